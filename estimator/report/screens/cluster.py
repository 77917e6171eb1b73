"""The screen of ``estimator cluster``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.phrases import NOTHING
from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.cluster import ClusterResult


def cluster_screen(result: ClusterResult) -> Screen:
    """Return how many hosts of which kinds there are, and who is slowest."""
    count = len(result.hosts)
    kinds = "one kind" if len(result.groups) == 1 else f"{len(result.groups)} kinds"
    text = f"{count} host{'s' if count > 1 else ''} of {kinds}"
    if result.slowest is not None and count > 1:
        text += f"; {result.slowest} is slowest"
    return (
        Answer(text),
        Table(
            name="hosts",
            columns=(
                Column("hosts"),
                Column("what", "left", fold=True),
                Column("a step"),
                Column("p10 to p90 over hosts", optional=True),
                Column("names", "left", fold=True),
            ),
            rows=tuple(
                (
                    str(len(group.hosts)),
                    group.what,
                    format_seconds(group.step_s.median) if group.step_s else NOTHING,
                    f"{format_seconds(group.step_s.p10)} to {format_seconds(group.step_s.p90)}"
                    if group.step_s
                    else NOTHING,
                    ", ".join(group.hosts),
                )
                for group in result.groups
            ),
        ),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
    )
