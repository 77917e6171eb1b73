"""The ``plain`` format: aligned text without colour, lines or wrapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Drawing, Facts, Heading, Paragraph, Table

if TYPE_CHECKING:
    from estimator.report.blocks import Screen


def render_plain(screen: Screen) -> str:
    """Return the screen as text."""
    parts = []
    for block in screen:
        match block:
            case Answer(text) | Paragraph(text):
                parts.append(text)
            case Table():
                parts.append(_table(block))
            case Heading(text):
                parts.append(f"\n{text}\n{'=' * len(text)}")
            case Drawing():
                continue
            case Facts():
                width = max((len(label) for label, _ in block.pairs), default=0)
                lines = [f"  {label:<{width}}  {value}" for label, value in block.pairs]
                parts.append("\n".join([block.title, *lines] if block.title else lines))
    return "\n".join(parts) + "\n"


def _table(block: Table) -> str:
    rows = [tuple(column.heading for column in block.columns), *block.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(block.columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if column.align == "right" else cell.ljust(width)
            for cell, width, column in zip(row, widths, block.columns, strict=True)
        ).rstrip()
        for row in rows
    ]
    title = [block.title] if block.title else []
    return "\n".join(["", *title, *lines, ""])
