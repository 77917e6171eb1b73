"""The commands of ``estimator plot`` that draw what was measured or saved before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.picture import PlotFile, show
from estimator.errors import InputError

Saved = Annotated[
    Path, typer.Argument(metavar="FILE", help="a result saved with -o FILE.json, or - for stdin")
]
Data = Annotated[
    list[Path], typer.Option("--data", envvar="ESTIMATOR_DATA", help="a measurement table (CSV); repeatable")
]


@guarded
def accuracy(data: Data, format_name: o.FormatName = None, output: PlotFile = None) -> None:
    """Draw predicted against measured times of a measurement table.

    estimator plot accuracy --data measured.csv.gz -o accuracy.svg
    """
    from estimator.app.evaluate import evaluate
    from estimator.app.evaluation import Options
    from estimator.app.trust import shipped_predictor
    from estimator.report.plots.accuracy import accuracy_figure
    from estimator.report.screens.plots import accuracy_screen

    shipped = shipped_predictor()
    options = Options(group_by=("device",), details=True)
    result = evaluate(data, tables=shipped.tables, predict=shipped.predict, options=options)
    if not result.details:
        raise InputError("no row of the data could be compared", hint="see estimator evaluate --data FILE")
    show(result, lambda: accuracy_figure(result), lambda: accuracy_screen(result), format_name, output)


@guarded
def cost(saved: Saved, format_name: o.FormatName = None, output: PlotFile = None) -> None:
    """Draw time against cost of a saved plan, with the Pareto front.

    estimator plan resnet50 --budget 5000 -o plan.json; estimator plot cost plan.json -o cost.svg
    """
    from estimator.cli.saved import read_saved
    from estimator.report.plots.cost import cost_figure
    from estimator.report.screens.plots import cost_screen
    from estimator.results.plan import PlanResult

    result = read_saved(PlanResult, saved)
    show(result, lambda: cost_figure(result), lambda: cost_screen(result), format_name, output)


@guarded
def measured(saved: Saved, format_name: o.FormatName = None, output: PlotFile = None) -> None:
    """Draw predicted against measured time of each layer of a saved measurement.

    estimator measure resnet18 -o step.json; estimator plot measured step.json
    """
    from estimator.cli.saved import read_saved
    from estimator.report.plots.measured import measured_figure
    from estimator.report.screens.measured_plot import measured_screen
    from estimator.results.measurement import MeasurementResult

    result = read_saved(MeasurementResult, saved)
    show(result, lambda: measured_figure(result), lambda: measured_screen(result), format_name, output)
