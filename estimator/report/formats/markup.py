"""The ``markdown`` and ``csv`` formats."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Drawing, Facts, Heading, Paragraph, Table

if TYPE_CHECKING:
    from estimator.report.blocks import Screen


def render_markdown(screen: Screen) -> str:
    """Return the screen as GitHub-flavoured Markdown."""
    parts = []
    for block in screen:
        match block:
            case Answer(text):
                parts.append(f"**{_escape(text)}**")
            case Paragraph(text):
                parts.append(_escape(text))
            case Table():
                parts.append(_markdown_table(block))
            case Heading(text):
                parts.append(f"## {_escape(text)}")
            case Drawing():
                continue
            case Facts():
                lines = [f"* {_escape(label)}: {_escape(value)}" for label, value in block.pairs]
                parts.append("\n".join([f"### {_escape(block.title)}", "", *lines] if block.title else lines))
    return "\n\n".join(parts) + "\n"


def _markdown_table(block: Table) -> str:
    headings = "| " + " | ".join(_escape(c.heading) for c in block.columns) + " |"
    rule = "|" + "|".join("---:" if c.align == "right" else ":---" for c in block.columns) + "|"
    rows = ["| " + " | ".join(_escape(cell) for cell in row) + " |" for row in block.rows]
    title = [f"### {_escape(block.title)}", ""] if block.title else []
    return "\n".join([*title, headings, rule, *rows])


def _escape(text: str) -> str:
    one_line = " ".join(text.split("\n"))
    return one_line.replace("|", "\\|").replace("*", "\\*").replace("[", "\\[").replace("<", "&lt;")


def render_csv(screen: Screen) -> str:
    """Return the screen's main (first) table, one row a line, for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for block in screen:
        if isinstance(block, Table):
            writer.writerow([column.heading for column in block.columns])
            writer.writerows(block.rows)
            break
    return out.getvalue()
