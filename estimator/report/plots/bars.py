"""Plots of predicted times: where a step goes by layer, and what it takes by device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.phrases import between, named, percent
from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.results.prediction import LayerSummary, Prediction

_MOST_LAYERS = 20
_MOST_DEVICES = 40
_NAME_CHARACTERS = 30
_WIDE = 20  # times between fastest and slowest, from where on a linear axis hides the fast ones


def layers_figure(network: str, prediction: Prediction) -> Figure:
    """Return the slowest layers of a step as bars, forward and backward behind each other."""
    ordered = sorted(prediction.layers, key=lambda layer: -(layer.forward_s + layer.backward_s))
    shown = ordered[:_MOST_LAYERS]
    total = prediction.step.time_s.expected
    rows = [(shortened(layer.path), layer.forward_s, layer.backward_s, _tip(layer, total)) for layer in shown]
    update = prediction.step.phases.optimizer_s
    if update > 0:
        rows.append(("optimizer", update, 0.0, f"optimizer: {percent(update, total)} of the step"))
    return Figure(
        name="layers",
        title=f"Time by layer: {network} on {named(prediction.device)}",
        summary=_summary(network, prediction, shown),
        x=Axis(label="time in a step", quantity=Quantity.SECONDS),
        y=Axis(label="layer", quantity=Quantity.NAME, names=tuple(row[0] for row in rows)),
        series=_stacked(rows),
    )


def _stacked(rows: Sequence[tuple[str, float, float, str]]) -> tuple[Series, ...]:
    forward = tuple(Mark(x=f, y=float(i), tip=tip) for i, (_, f, _, tip) in enumerate(rows))
    backward = tuple(
        Mark(x=f + b, y=float(i), start=f, tip=tip) for i, (_, f, b, tip) in enumerate(rows) if b > 0
    )
    series = [Series(name="forward (or update)", marks=forward, kind="bars", fill="full", tone=1)]
    if backward:
        series.append(Series(name="backward", marks=backward, kind="bars", fill="striped", tone=2))
    return tuple(series)


def _tip(layer: LayerSummary, total: float) -> str:
    share = percent(layer.forward_s + layer.backward_s, total)
    return (
        f"{layer.path}: forward {format_seconds(layer.forward_s)}, "
        f"backward {format_seconds(layer.backward_s)}, {share} of the step, bound by {layer.bound}"
    )


def _summary(network: str, prediction: Prediction, shown: Sequence[LayerSummary]) -> str:
    total = prediction.step.time_s.expected
    share = percent(sum(layer.forward_s + layer.backward_s for layer in shown), total)
    first = f" The slowest is {shown[0].path}." if shown else ""
    return (
        f"The {len(shown)} slowest of {len(prediction.layers)} layers of {network} on "
        f"{named(prediction.device)} take {share} of a step of {format_seconds(total)}.{first}"
    )


def shortened(name: str) -> str:
    """Return a layer's name for an axis: parents by their initials and numbers, ``l.0.b.Conv2d_2``."""
    if len(name) <= _NAME_CHARACTERS:
        return name
    *parents, last = name.split(".")
    short = ".".join([*(part if part.isdecimal() else part[:1] for part in parents), last])
    return short if len(short) <= _NAME_CHARACTERS else f"…{short[1 - _NAME_CHARACTERS :]}"


def devices_figure(network: str, predictions: Sequence[Prediction]) -> Figure:
    """Return the time of a step by device with its range, fastest first; samples a step may differ."""
    everything = sorted(predictions, key=lambda p: -p.step.samples_per_s)
    ordered = everything[:_MOST_DEVICES]
    marks = tuple(
        Mark(
            x=1000 / p.step.samples_per_s,
            y=float(i),
            x_range=_thousand(p),
            tip=f"{named(p.device)}: {format_seconds(1000 / p.step.samples_per_s)} for 1,000 samples; "
            f"a step takes {format_seconds(p.step.time_s.expected)}, {between(p.step.time_s)}",
        )
        for i, p in enumerate(ordered)
    )
    fastest, slowest = ordered[0], ordered[-1]
    left = len(everything) > len(ordered)
    which = f"the fastest {len(ordered)} of {len(everything)} devices" if left else f"{len(ordered)} devices"
    coverage = 100 * fastest.step.time_s.coverage
    return Figure(
        name="devices",
        title=f"Time by device: {network}, 1,000 samples",
        summary=f"Expected time of 1,000 samples with its {coverage:.0f} % range on {which}. "
        f"Fastest is {named(fastest.device)}, slowest {named(slowest.device)}. "
        "Where ranges overlap, the order is not certain.",
        x=Axis(label="time of 1,000 training samples", quantity=Quantity.SECONDS, log=_wide(ordered)),
        y=Axis(label="device", quantity=Quantity.NAME, names=tuple(named(p.device) for p in ordered)),
        series=(Series(name=f"expected, {coverage:.0f} % range", marks=marks, marker="diamond", tone=1),),
    )


def _thousand(prediction: Prediction) -> tuple[float, float]:
    time = prediction.step.time_s
    scale = 1000 / prediction.step.samples_per_s / time.expected
    return time.low * scale, time.high * scale


def _wide(ordered: Sequence[Prediction]) -> bool:
    return ordered[0].step.samples_per_s > _WIDE * ordered[-1].step.samples_per_s
