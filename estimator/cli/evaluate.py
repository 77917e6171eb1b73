"""``estimator evaluate``: whether the predictions can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded

Data = Annotated[
    list[Path],
    typer.Option(
        "--data", "-d", envvar="ESTIMATOR_DATA", help="a measurement table (CSV, gzip or not); repeatable"
    ),
]
GroupBy = Annotated[
    str,
    typer.Option(
        "--group-by", envvar="ESTIMATOR_GROUP_BY",
        help="device, source_id, precision, mode, family, trust, framework, model, tier, devices",
    ),
]  # fmt: skip
Details = Annotated[bool, typer.Option("--details", envvar="ESTIMATOR_DETAILS", help="list every row")]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="COLUMN=TEXT", envvar="ESTIMATOR_EXCLUDE",
        help="leave out rows whose column contains a text, e.g. source_id=lamikr; repeatable",
    ),
]  # fmt: skip
Flagged = Annotated[
    bool,
    typer.Option(
        "--flagged", envvar="ESTIMATOR_FLAGGED", help="score rows that their collector flagged, too"
    ),
]
LeaveOut = Annotated[
    str | None,
    typer.Option(
        "--leave-one-out", envvar="ESTIMATOR_LEAVE_ONE_OUT",
        help="device, source_id, family, architecture or framework: calibrate without what is scored",
    ),
]  # fmt: skip


@guarded
def evaluate(
    data: Data,
    group_by: GroupBy = "device,source_id,precision,mode,family,trust",
    details: Details = False,
    exclude: Exclude = None,
    flagged: Flagged = False,
    leave_one_out: LeaveOut = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Score the predictions against measurements: errors per group, ranges that held, order of devices.

    estimator evaluate --data measured.csv.gz --group-by device,precision
    """
    from estimator.app.evaluate import evaluate as evaluated
    from estimator.app.evaluation import Options
    from estimator.app.trust import shipped_predictor
    from estimator.cli.output import emit
    from estimator.report.screens.evaluation import evaluation_screen

    options = Options(
        group_by=tuple(name.strip() for name in group_by.split(",") if name.strip()),
        exclude=tuple(exclude or ()),
        flagged=flagged,
        details=details,
        leave_out=leave_one_out,
    )
    shipped = shipped_predictor(keep=leave_one_out is not None)
    result = evaluated(
        data, tables=shipped.tables, predict=shipped.predict, refit=shipped.refit, options=options
    )
    emit(result, lambda: evaluation_screen(result), format_name=format_name, output=output)
