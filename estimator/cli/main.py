"""The command line's root: registers the commands, nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from estimator import __version__
from estimator.cli import (
    calibrate,
    cluster,
    compare,
    convert,
    detect,
    devices,
    doctor,
    evaluate,
    explain,
    layers,
    measure,
    memory,
    networks,
    plan,
    plot,
    predict,
    prices,
    report,
    scale,
    sweep,
)

app = typer.Typer(
    name="estimator",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How long will this neural network take to train on that hardware, and why?",
)
app.command("detect")(detect.detect)
app.command("doctor")(doctor.doctor)
app.command("layers")(layers.layers)
app.command("predict")(predict.predict)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.command("sweep")(sweep.sweep)
app.command("scale")(scale.scale)
app.command("memory")(memory.memory)
app.command("measure")(measure.measure)
app.command("explain")(explain.explain)
app.command("calibrate")(calibrate.calibrate)
app.command("convert")(convert.convert)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.add_typer(plot.app, name="plot")
app.add_typer(devices.app, name="devices")
app.add_typer(networks.app, name="networks")
app.add_typer(cluster.app, name="cluster")
app.add_typer(prices.app, name="prices")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"estimator {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version")
    ] = False,
) -> None:
    """Predict how long a neural network takes to train on given hardware, and say why."""
    del version


def run() -> None:
    """Run the program."""
    app()
