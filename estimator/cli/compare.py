"""``estimator compare``: which device is faster, and whether a GPU is worth it."""

from __future__ import annotations

from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe

Devices = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DEV...",
        help='devices: cpu, cuda:0 (this machine), catalogued ones, "4x V100"; default: this machine',
    ),
]
Every = Annotated[bool, typer.Option("--all", help="compare every device of the catalogue")]


@takes_recipe
@guarded
def compare(
    recipe: RecipeFlags,
    device: Devices = None,
    every: Every = False,
    must_fit: o.MustFit = False,
    deadline: o.Deadline = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Compare devices for one network: times, speed-ups, memory fit, and the sentence that says why.

    estimator compare vgg16 cpu "GTX 1080 Ti" "RTX 4090"
    """
    from estimator.app.comparison import compare as compared
    from estimator.app.comparison_costs import costs_of
    from estimator.catalog.prices import load_prices
    from estimator.cli.answer import check_conditions, predictions_for, read_deadline
    from estimator.cli.output import emit
    from estimator.report.screens.comparison import comparison_screen

    deadline_s = read_deadline(deadline)
    request = recipe.request()
    answered = predictions_for(request, device or [], root, every=every)
    costs = costs_of(answered.predictions, load_prices())
    result = compared(request, answered.predictions, answered.warnings, answered.inputs, costs)
    emit(result, lambda: comparison_screen(result), format_name=format_name, output=output)
    check_conditions(answered.predictions, must_fit=must_fit, deadline_s=deadline_s)
