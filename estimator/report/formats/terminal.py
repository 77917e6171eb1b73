"""The ``table`` format: a screen for a terminal, drawn with rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Facts, Paragraph, Table

if TYPE_CHECKING:
    from rich.console import Console

    from estimator.report.blocks import Screen

_WIDE = 10_000  # for pipes: as wide as the widest row, nothing is wrapped
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
    for block in screen:
        match block:
            case Answer(text):
                console.print(text, style="bold")
            case Paragraph(text, kind):
                console.print(text, style=_STYLES[kind])
            case Table():
                _print_table(console, block)
            case Facts():
                _print_facts(console, block)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _print_table(console: Console, block: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(
        title=block.title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1),
    )
    for index, column in enumerate(block.columns):
        table.add_column(column.heading, justify=column.align, overflow="fold", no_wrap=index > 0)
    for index, row in enumerate(block.rows):
        table.add_row(*row, style="bold" if index in block.emphasis else "")
    console.print()
    console.print(table)
    console.print()


def _print_facts(console: Console, block: Facts) -> None:
    from rich.table import Table as RichTable

    if block.title:
        console.print(block.title, style="bold")
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, value in block.pairs:
        grid.add_row(f"  {label}", value)
    console.print(grid)
