"""``estimator plot``: results as pictures, in the terminal or in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli import plot_saved
from estimator.cli.guard import guarded
from estimator.cli.picture import PlotFile, show
from estimator.cli.recipe import RecipeFlags, takes_recipe
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.app.study import Study

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
Batches = Annotated[
    str, typer.Option("--batch", "-b", metavar="LIST", help="batches: 32,64 or 1..1024*2 or 8..64+8")
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
    show(
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
    show(
        result,
        lambda: layers_figure(found.network.name, found.predictions[0]),
        lambda: layers_plot_screen(result, most=most),
        format_name,
        output,
        rows="predictions.layers",
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
    show(
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
    show(result, lambda: batch_figure(result), lambda: batch_screen(result), format_name, output)


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


app.command("cost")(plot_saved.cost)
app.command("measured")(plot_saved.measured)
app.command("accuracy")(plot_saved.accuracy)
