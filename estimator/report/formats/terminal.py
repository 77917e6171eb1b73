"""The ``table`` format: a screen for a terminal, drawn with rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Facts, Paragraph, Table

if TYPE_CHECKING:
    from rich.console import Console

    from estimator.report.blocks import Block, Screen

_WIDE = 10_000  # for pipes: as wide as the widest row, nothing is wrapped
_GAP = 3  # between columns, as rich draws them
_LEAST_FIRST = 16  # a first column narrower than this is not worth reading
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
            case Facts():
                _print_facts(console, block)
        before = block
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print_table(console: Console, block: Table) -> None:
    """Print a table; one that is too wide folds its first column, or becomes a list of its rows."""
    room = _room_for_first(block, console.width)
    console.print()
    if room is None:
        _print_cards(console, block)
    else:
        _print_grid(console, block, room)


def _room_for_first(block: Table, width: int) -> int | None:
    """Return the width the first column can have with all others whole; None when that is too little."""
    from rich.cells import cell_len

    rows = [tuple(column.heading for column in block.columns), *block.rows]
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(block.columns))]
    room = width - sum(widths[1:]) - _GAP * (len(widths) - 1)
    first = min(widths[0], room)
    return first if first >= min(widths[0], _LEAST_FIRST) else None


def _print_grid(console: Console, block: Table, first: int) -> None:
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    if block.title:
        console.print(block.title, style="bold")
    for index, column in enumerate(block.columns):
        width = first if index == 0 else None
        table.add_column(
            column.heading, justify=column.align, overflow="fold", no_wrap=index > 0, width=width
        )
    for index, row in enumerate(block.rows):
        table.add_row(*row, style="bold" if index in block.emphasis else "")
    console.print(table)


def _print_cards(console: Console, block: Table) -> None:
    if block.title:
        console.print(block.title, style="bold")
    label, *others = block.columns
    for row in block.rows:
        console.print(f"{row[0] or label.heading}", style="bold", overflow="fold")
        for column, cell in zip(others, row[1:], strict=True):
            if cell:
                console.print(f"  {column.heading}: {cell}", overflow="fold")


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
