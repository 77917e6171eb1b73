"""``estimator memory``: whether a step fits, and at what batch."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe

Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE", help="a device; default: those of this machine"
    ),
]


@takes_recipe
@guarded
def memory(
    recipe: RecipeFlags,
    device: Devices = None,
    must_fit: o.MustFit = False,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show what a training step holds in memory, the largest batch, and what remedies cost in time.

    estimator memory gpt2_xl --device "RTX 3090" --batch 8
    """
    from estimator.app.memory import memory as remembered
    from estimator.app.source import open_network
    from estimator.cli.machines import ground_here, machines
    from estimator.cli.output import emit
    from estimator.errors import ConditionFailedError
    from estimator.report.screens.memory import memory_screen

    request = recipe.request()
    described = open_network(request.network, request.overrides, sys.stdin.buffer)
    ground = ground_here(root)
    systems = machines(request, device or [], root)
    grounds = {name: ground(named.system.device) for name, named in systems.items()}
    result = remembered(described, request, grounds)
    emit(result, lambda: memory_screen(result), format_name=format_name, output=output)
    if must_fit and not any(one.memory.fits for one in result.devices):
        raise ConditionFailedError("--must-fit: the step fits in the memory of no device")
