"""``estimator report``: a page to show, in one file."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.app.report_costs import Costs
    from estimator.results.plan import PlanResult

Networks = Annotated[
    list[str],
    typer.Argument(metavar="NET...", help="networks of the zoo, YAML files, or - for stdin"),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE",
        help='cpu, cuda:0 (this machine), or any catalogued device: "4x V100"; repeatable; default: all here',
    ),
]  # fmt: skip
Every = Annotated[bool, typer.Option("--all", help="report on every device of the catalogue")]
SavedPlan = Annotated[
    Path | None,
    typer.Option(
        "--plan", envvar="ESTIMATOR_PLAN",
        help="costs from a plan saved with estimator plan … -o plan.json; default: of these devices",
    ),
]  # fmt: skip
Region = Annotated[
    str | None,
    typer.Option("--region", envvar="ESTIMATOR_REGION", help="for electricity and carbon: DEU, USA-CA, …"),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", envvar="ESTIMATOR_OUTPUT",
        help="write to a file: .html is one page that needs no network; .md, .csv, .json, .txt",
    ),
]  # fmt: skip


@takes_recipe
@guarded
def report(
    recipe: RecipeFlags,
    network: Networks,
    device: Devices = None,
    every: Every = False,
    saved_plan: SavedPlan = None,
    region: Region = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: PageFile = None,
) -> None:
    """Write a report to show: times, plots, layers, memory, ranges, assumptions, sources, in one page.

    estimator report resnet50 -d "GTX 1080 Ti" -d "RTX 4090" --precision amp -o plan.html
    """
    from estimator.app.report import report as reported
    from estimator.app.source import open_source
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.answer import systems_for
    from estimator.cli.output import emit
    from estimator.cli.prices import today
    from estimator.report.screens.report import report_screen

    if network.count("-") > 1:
        raise InputError("stdin can be read only once", hint="give - for one network only")
    request = recipe.request()
    sources = [(replace(request, network=name), open_source(name, sys.stdin.buffer)) for name in network]
    result = reported(
        sources,
        systems_for(request, device or [], root, every=every),
        load_calibration(),
        made_on=today().isoformat(),
        command=_command(),
        costs=_costs(saved_plan, region),
    )
    emit(result, lambda: report_screen(result), format_name=format_name, output=output)


def _costs(saved: Path | None, region: str | None) -> Costs | PlanResult:
    from estimator.app.report_costs import Costs
    from estimator.catalog.prices import load_prices
    from estimator.cli.prices import today
    from estimator.cli.saved import read_saved
    from estimator.results.plan import PlanResult

    if saved is None:
        return Costs(book=load_prices(), today=today(), region=region)
    if region is not None:
        raise InputError("--region: the plan has its own", hint="give it to estimator plan")
    return read_saved(PlanResult, saved)


def _command() -> str:
    """Return the command line that was given, with the environment variables it read."""
    said = [f"{k}={shlex.quote(v)}" for k, v in sorted(os.environ.items()) if k.startswith("ESTIMATOR_")]
    return " ".join([*said, shlex.join(["estimator", *sys.argv[1:]])])
