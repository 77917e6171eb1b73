"""``estimator plot``: results as pictures, in the terminal or in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.app.study import Study
    from estimator.report.blocks import Screen
    from estimator.report.plots.figure import Figure
    from estimator.results.base import Result

app = typer.Typer(
    no_args_is_help=True,
    help="Draw a roofline, time by layer or device, throughput by batch, cost, predicted against measured.",
)
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE",
        help='cpu, cuda:0 (this machine), or any catalogued device: "RTX 4090"; repeatable; default: here',
    ),
]  # fmt: skip
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", envvar="ESTIMATOR_OUTPUT",
        help="write to a file: .svg, .png, .pdf draw it; .json, .csv, .md, .html, .txt write its figures",
    ),
]  # fmt: skip
Batches = Annotated[
    str, typer.Option("--batch", "-b", metavar="LIST", help="batches: 32,64 or 1..1024*2 or 8..64+8")
]
Saved = Annotated[
    Path, typer.Argument(metavar="FILE", help="a result saved with -o FILE.json, or - for stdin")
]
Data = Annotated[
    list[Path], typer.Option("--data", envvar="ESTIMATOR_DATA", help="a measurement table (CSV); repeatable")
]


@app.command("roofline")
@takes_recipe
@guarded
def roofline(
    recipe: RecipeFlags,
    device: Devices = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: PlotFile = None,
) -> None:
    """Draw a network's layers under the ceilings of a device: what is compute-, what memory-bound.

    estimator plot roofline resnet50 -d "RTX 4090" --precision amp -o roofline.svg
    """
    from estimator.report.plots.roofline import roofline_figure
    from estimator.report.screens.plots import roofline_screen

    result = _studied(recipe, device, root, single=True).roofline(0)
    most = _rows(format_name, output)
    _show(
        result,
        lambda: roofline_figure(result),
        lambda: roofline_screen(result, most=most),
        format_name,
        output,
    )


@app.command("layers")
@takes_recipe
@guarded
def layers(
    recipe: RecipeFlags,
    device: Devices = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: PlotFile = None,
) -> None:
    """Draw where the time of a step goes, by layer, forward and backward.

    estimator plot layers resnet50 -d "RTX 4090" -o layers.png
    """
    from estimator.app.prediction import prediction_result
    from estimator.report.plots.bars import layers_figure
    from estimator.report.screens.plots import layers_plot_screen

    found = _studied(recipe, device, root, single=True)
    result = prediction_result(found.request, found.predictions, found.warnings, found.inputs)
    most = _rows(format_name, output)
    _show(
        result,
        lambda: layers_figure(found.network.name, found.predictions[0]),
        lambda: layers_plot_screen(result, most=most),
        format_name,
        output,
    )


@app.command("devices")
@takes_recipe
@guarded
def devices(
    recipe: RecipeFlags,
    device: Devices = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: PlotFile = None,
) -> None:
    """Draw the time of 1,000 training samples by device, with ranges.

    estimator plot devices resnet50 -d "GTX 1080 Ti" -d "RTX 4090" -d A100-SXM-40GB
    """
    from estimator.app.prediction import prediction_result
    from estimator.report.plots.bars import devices_figure
    from estimator.report.screens.plots import devices_plot_screen

    found = _studied(recipe, device, root, single=False)
    result = prediction_result(found.request, found.predictions, found.warnings, found.inputs)
    _show(
        result,
        lambda: devices_figure(found.network.name, found.predictions),
        lambda: devices_plot_screen(result),
        format_name,
        output,
    )


@app.command("batch")
@takes_recipe
@guarded
def batch(
    recipe: RecipeFlags,
    device: Devices = None,
    batch: Batches = "1..1024*2",
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: PlotFile = None,
) -> None:
    """Draw throughput by batch: the knee, and the wall where memory ends.

    estimator plot batch resnet50 -d "RTX 3060" -d "RTX 4090" --precision amp
    """
    from estimator.app.axes import Axis, parse_axis
    from estimator.app.source import open_source
    from estimator.app.sweep import sweep
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.answer import systems_for
    from estimator.report.plots.trends import batch_figure
    from estimator.report.screens.plots import batch_screen

    request = recipe.request()
    sizes = parse_axis("batch", batch, numbers=True)
    found = systems_for(request, device or [], root)
    names = device if device and len(device) == len(found) else [each.system.device.id for each in found]
    systems = dict(zip(names, found, strict=True))
    axes = [Axis(name="device", values=tuple(systems)), sizes] if len(systems) > 1 else [sizes]
    result = sweep(open_source(request.network, sys.stdin.buffer), request, axes, systems, load_calibration())
    _show(result, lambda: batch_figure(result), lambda: batch_screen(result), format_name, output)


@app.command("accuracy")
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
    _show(result, lambda: accuracy_figure(result), lambda: accuracy_screen(result), format_name, output)


@app.command("cost")
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
    _show(result, lambda: cost_figure(result), lambda: cost_screen(result), format_name, output)


@app.command("measured")
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
    _show(result, lambda: measured_figure(result), lambda: measured_screen(result), format_name, output)


def _studied(recipe: RecipeFlags, specs: list[str] | None, root: Path | None, *, single: bool) -> Study:
    from estimator.app.source import open_source
    from estimator.app.study import study
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.answer import systems_for

    if single and specs and len(specs) > 1:
        raise InputError(
            f"this plot is of one device, not of {len(specs)}", hint="see estimator plot devices"
        )
    request = recipe.request()
    systems = systems_for(request, specs or [], root)
    if single and not specs:
        systems = systems[-1:]  # of this machine a GPU where there is one, else the CPU
    return study(open_source(request.network, sys.stdin.buffer), request, systems, load_calibration())


def _rows(format_name: str | None, output: Path | None) -> int | None:
    """Return how many rows a table shows: all where a program reads it."""
    from estimator.report.screens.plots import ROWS_SHOWN

    return None if format_name == "csv" or output is not None else ROWS_SHOWN


def _show(
    result: Result,
    figure: Callable[[], Figure],
    screen: Callable[[], Screen],
    format_name: str | None,
    output: Path | None,
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
    emit(result, screen, format_name=format_name, output=output)
