"""The ``table`` format: a screen for a terminal, drawn with rich."""

from __future__ import annotations

import io
from itertools import groupby
from typing import TYPE_CHECKING

from estimator.errors import MissingPackageError
from estimator.report.blocks import Answer, Drawing, Facts, Heading, Paragraph, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from estimator.report.blocks import Block, Screen
    from estimator.report.plots.figure import Figure

_WIDE = 10_000  # for pipes: as wide as the widest row, nothing is wrapped
_GAP = 3  # between columns, as rich draws them
_LEAST_FOLDED = 16  # a folded column narrower than this is not worth reading
_STYLES = {"plain": "", "dim": "dim", "warning": "yellow", "next": "cyan"}


def render_table(screen: Screen, *, width: int | None, colour: bool) -> str:
    """Return the screen as text; ``width`` None lets every line be as long as it is."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=width or _WIDE,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
        emoji=False,
        markup=False,
        soft_wrap=width is None,
    )
    before: Block | None = None
    for block in screen:
        match block:
            case Answer(text):
                console.print(text, style="bold")
            case Paragraph(text, kind):
                if isinstance(before, Table):
                    console.print()
                console.print(text, style=_STYLES[kind])
            case Table():
                _print_table(console, block)
            case Heading(text):
                console.print(f"\n{text}", style="bold underline")
            case Drawing(figure):
                _print_drawing(console, figure, width=width, colour=colour)
            case Facts():
                _print_facts(console, block)
        before = block
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print_table(console: Console, block: Table) -> None:
    """Print a table; where it is too wide, without its optional columns, or as a list of its rows."""
    console.print()
    if block.title:
        console.print(block.title, style="bold")
    shown = list(range(len(block.columns)))
    while True:
        widths = _widths(block, shown, console.width)
        if widths is not None:
            _print_grid(console, block, dict(zip(shown, widths, strict=True)))
            return
        optional = [i for i in shown if block.columns[i].optional]
        if not optional:
            _print_cards(console, block)
            return
        shown.remove(optional[-1])


def _widths(block: Table, shown: list[int], width: int) -> list[int] | None:
    """Return the columns' widths, what folds made narrower to fit; None when that is too narrow."""
    from rich.cells import cell_len

    cells = [[block.columns[i].heading, *(row[i] for row in block.rows)] for i in shown]
    widths = [max(map(cell_len, column)) for column in cells]
    excess = sum(widths) + _GAP * (len(widths) - 1) - width
    for place, index in sorted(enumerate(shown), key=lambda pair: -widths[pair[0]]):
        if excess > 0 and (index == 0 or block.columns[index].fold):
            kept = max(widths[place] - excess, min(widths[place], _LEAST_FOLDED))
            excess -= widths[place] - kept
            widths[place] = kept
    return widths if excess <= 0 else None


def _print_grid(console: Console, block: Table, widths: dict[int, int]) -> None:
    """Print rows under a rule; rich's own table, which is slow, only where cells must be folded."""
    from rich.cells import cell_len

    columns = [block.columns[index] for index in widths]
    rows = [[row[index] for index in widths] for row in block.rows]
    if any(cell_len(cell) > width for row in rows for cell, width in zip(row, widths.values(), strict=True)):
        _print_folded(console, block, widths)
        return
    pads = [(width, column.align == "right") for column, width in zip(columns, widths.values(), strict=True)]
    heads = [column.heading for column in columns]
    console.out(_line(heads, pads), style="bold")
    console.out("─" * (sum(widths.values()) + _GAP * (len(widths) - 1)))
    for strong, group in groupby(enumerate(rows), key=lambda numbered: numbered[0] in block.emphasis):
        text = "\n".join(_line(row, pads) for _, row in group)
        console.out(text, style="bold" if strong else None)


def _line(cells: Sequence[str], pads: Sequence[tuple[int, bool]]) -> str:
    from rich.cells import cell_len

    parts = []
    for cell, (width, right) in zip(cells, pads, strict=True):
        space = " " * (width - cell_len(cell))
        parts.append(space + cell if right else cell + space)
    return (" " * _GAP).join(parts)


def _print_folded(console: Console, block: Table, widths: dict[int, int]) -> None:
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for index, width in widths.items():
        column = block.columns[index]
        table.add_column(column.heading, justify=column.align, overflow="fold", width=width)
    for number, row in enumerate(block.rows):
        table.add_row(*(row[i] for i in widths), style="bold" if number in block.emphasis else "")
    console.print(table)


def _print_cards(console: Console, block: Table) -> None:
    label, *others = block.columns
    for row in block.rows:
        console.print(f"{row[0] or label.heading}", style="bold", overflow="fold")
        for column, cell in zip(others, row[1:], strict=True):
            if cell:
                console.print(f"  {column.heading}: {cell}", overflow="fold")


def _print_drawing(console: Console, figure: Figure, *, width: int | None, colour: bool) -> None:
    """Print a plot, or what it needs: the table beside it has the figures."""
    from rich.text import Text

    from estimator.report.plots.terminal import draw_in_terminal

    console.print()
    try:
        drawn = draw_in_terminal(figure, width=width, colour=colour)
    except MissingPackageError as error:
        console.print(str(error), style="dim")
        return
    for line in drawn.splitlines():
        console.print(Text.from_ansi(line), no_wrap=True, crop=False)


def _print_facts(console: Console, block: Facts) -> None:
    from rich.table import Table as RichTable

    console.print()
    if block.title:
        console.print(block.title, style="bold")
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, value in block.pairs:
        grid.add_row(f"  {label}", value)
    console.print(grid)
