"""The plot of a measurement: each layer's predicted time against its measured one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.errors import InputError
from estimator.report.phrases import named
from estimator.report.plots.accuracy import guides
from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.results.measurement import MeasurementResult


def measured_figure(result: MeasurementResult) -> Figure:
    """Return predicted against measured seconds of each layer and of the step.

    Raises InputError where nothing was predicted or no layer was watched.
    """
    if result.predicted is None:
        raise InputError("nothing was predicted beside this measurement", hint="see its warnings")
    predicted = {layer.path: layer.forward_s + layer.backward_s for layer in result.predicted.layers}
    pairs = [
        (layer.path, layer.forward_s + layer.backward_s, predicted[layer.path])
        for layer in result.measured.layers
        if predicted.get(layer.path) and layer.forward_s + layer.backward_s > 0
    ]
    step = ("the step", result.measured.step_s.median, result.predicted.step_s.expected)
    times = [time for _, *both in (*pairs, step) for time in both]
    network = result.inputs.get("network", "the network")
    layers = Series(name="layers", marks=tuple(map(_mark, pairs)), marker="circle", tone=1)
    whole = Series(name="the whole step", marks=(_mark(step),), marker="diamond", tone=2)
    within = sum(0.5 < measured / expected < 2.0 for _, measured, expected in pairs)  # noqa: PLR2004 - a factor of two
    return Figure(
        name="measured",
        title=f"Predicted against measured: {network} on {named(result.device)}",
        summary=f"{len(pairs)} layers, {within} of them predicted within a factor of two; "
        f"the step was measured at {format_seconds(step[1])} and predicted at {format_seconds(step[2])}.",
        x=Axis(label="measured", quantity=Quantity.SECONDS, log=True),
        y=Axis(label="predicted", quantity=Quantity.SECONDS, log=True),
        series=(*guides(times), *([layers] if pairs else []), whole),
    )


def _mark(pair: tuple[str, float, float]) -> Mark:
    name, measured, predicted = pair
    tip = (
        f"{name}: measured {format_seconds(measured)}, predicted {format_seconds(predicted)} "
        f"({predicted / measured:.2f}x)"
    )
    return Mark(x=measured, y=predicted, tip=tip)
