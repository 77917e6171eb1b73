"""``estimator predict``: how long a network takes to train."""

from __future__ import annotations

from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe

Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE",
        help='cpu, cuda:0 (this machine), or any catalogued device: "2x RTX 4090"; default: all here',
    ),
]  # fmt: skip


@takes_recipe
@guarded
def predict(
    recipe: RecipeFlags,
    device: Devices = None,
    must_fit: o.MustFit = False,
    deadline: o.Deadline = None,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Predict the time of a training step, an epoch and a run, with a range and its reasons.

    estimator predict resnet50 --device "2x RTX 4090" --precision amp --batch 128 --epochs 90
    """
    from estimator.app.prediction import prediction_result
    from estimator.cli.answer import check_conditions, predictions_for, read_deadline
    from estimator.cli.output import emit
    from estimator.report.screens.prediction import prediction_screen

    deadline_s = read_deadline(deadline)
    request = recipe.request()
    answered = predictions_for(request, device or [], root)
    result = prediction_result(request, answered.predictions, answered.warnings, answered.inputs)
    emit(result, lambda: prediction_screen(result), format_name=format_name, output=output)
    check_conditions(answered.predictions, must_fit=must_fit, deadline_s=deadline_s)
