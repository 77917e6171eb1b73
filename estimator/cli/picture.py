"""Where a plot goes: into a picture file, or into any other format with its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.report.blocks import Screen
    from estimator.report.plots.figure import Figure
    from estimator.results.base import Result

PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", envvar="ESTIMATOR_OUTPUT",
        help="write to a file: .svg, .png, .pdf draw it; .json, .csv, .md, .html, .txt write its figures",
    ),
]  # fmt: skip


def show(
    result: Result,
    figure: Callable[[], Figure],
    screen: Callable[[], Screen],
    format_name: str | None,
    output: Path | None,
    *,
    rows: str = "",
) -> None:
    """Draw to a picture where the suffix asks for one, else write the screen, which has the plot in it."""
    from estimator.cli.output import emit, save
    from estimator.report.plots.image import SUFFIXES, draw_to_bytes
    from estimator.report.render import format_for_suffix

    if output is not None and format_name is None:
        suffix = output.suffix.lower()
        if suffix in SUFFIXES:
            save(output, draw_to_bytes(figure(), suffix))
            return
        if format_for_suffix(suffix) is None:
            raise InputError(
                f"cannot tell a format from the name {str(output)!r}",
                hint="end it in .svg, .png or .pdf, or in .json, .csv, .md, .html or .txt",
            )
    emit(result, screen, format_name=format_name, output=output, rows=rows)
