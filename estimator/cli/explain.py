"""``estimator explain``: whether a measured time is normal."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe

Measured = Annotated[
    str,
    typer.Option(
        "--measured", "-m", help="what you see: 12h/epoch, 350ms/step, 2d/run, 410 images/s, 3 it/s"
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE",
        help='where it ran: cpu, cuda:0 (this machine) or "2x RTX 4090"; default: the fastest here',
    ),
]  # fmt: skip


@takes_recipe
@guarded
def explain(
    recipe: RecipeFlags,
    measured: Measured,
    device: Device = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Say whether a time you measured is normal and, if not, what could explain it and how to check.

    estimator explain resnet50 --device "RTX 3090" --batch 64 --measured "2h/epoch"
    """
    from estimator.app.explanation import explain as explained
    from estimator.app.explanation import parse_measured
    from estimator.app.here import Grounds
    from estimator.app.request import training_of
    from estimator.app.source import open_network
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.answer import grounding_here, systems_for
    from estimator.cli.output import emit
    from estimator.report.screens.explanation import explanation_screen

    seen = parse_measured(measured)
    request = recipe.request()
    described = open_network(request.network, request.overrides, sys.stdin.buffer)
    training = training_of(request, described.training)
    system = systems_for(request, [device] if device else [], None)[-1].system
    ground = grounding_here(None)
    grounds = (
        ground(system.device) if ground else Grounds(device=system.device, calibration=load_calibration())
    )
    result = explained(
        seen, described.network, training, replace(system, device=grounds.device), grounds.calibration,
        coverage=request.coverage, measured_here=grounds.measured_here,
        inputs={
            **request.inputs(), "network": described.network.name, "network_file": request.network,
            "measured": measured, "batch": training.batch, "precision": training.precision.name,
        },
    )  # fmt: skip
    emit(result, lambda: explanation_screen(result), format_name=format_name, output=output)
