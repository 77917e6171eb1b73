"""The screen of ``estimator measure``: predicted beside measured, by phase and by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import network_of
from estimator.report.phrases import NOTHING, named, percent
from estimator.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.measurement import LayerError, MeasuredTime, MeasurementResult

_SHOWN = 12


def measurement_screen(result: MeasurementResult) -> Screen:
    """Return the answer, the spread, phases and layers with signed errors, memory and warnings."""
    blocks: list[Block] = [
        Answer(_answer(result)),
        Paragraph(_basis(result)),
        Facts(title="", pairs=_facts(result)),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
    ]
    if result.measured.method == "pytorch":
        blocks += [_phases(result), _layers(result)]
    network = network_of(result.inputs)
    following = "estimator calibrate --here" if result.error else f"estimator predict {network}"
    blocks.append(Paragraph(f"next: {following}", "next"))
    return tuple(blocks)


def signed(error: float | None) -> str:
    """Return an error as ``+12 %``."""
    return NOTHING if error is None else f"{100 * error:+.0f} %"


def spread(time: MeasuredTime) -> str:
    """Return ``p10 to p90, steps``."""
    return f"{format_seconds(time.p10)} to {format_seconds(time.p90)} (p10 to p90 of {time.steps})"


def _answer(result: MeasurementResult) -> str:
    what = result.inputs.get("network", "the network")
    where = named(result.device)
    measured = result.measured.step_s
    kind = "a step takes" if result.measured.method == "pytorch" else "products and traffic of a step take"
    text = f"{what} on {where}: {kind} {format_seconds(measured.median)}"
    if result.predicted is None or result.error is None:
        return f"{text}; there is no prediction for this device"
    return (
        f"{text}, predicted {format_seconds(result.predicted.step_s.expected)} ({signed(result.error.step)})"
    )


def _basis(result: MeasurementResult) -> str:
    text = f"measured {spread(result.measured.step_s)}"
    if result.predicted is None or result.error is None:
        return text
    step = result.predicted.step_s
    where = "inside" if result.error.inside else "outside"
    return (
        f"{text}: {where} the predicted {format_seconds(step.low)} to {format_seconds(step.high)} "
        f"(basis: {step.basis})"
    )


def _facts(result: MeasurementResult) -> tuple[tuple[str, str], ...]:
    measured = result.measured
    software = ", ".join(f"{name} {value}" for name, value in measured.software.items())
    rows = [
        ("batch", f"{result.inputs.get('batch', NOTHING)}, {result.inputs.get('precision', NOTHING)}"),
        ("software", software),
        ("warm-up", f"{measured.warm_up_steps} steps" if measured.warm_up_steps else NOTHING),
    ]
    if measured.processes > 1:
        rows.append(("processes", f"{measured.processes}, data parallel"))
    if measured.memory_peak_bytes is not None:
        predicted = f", predicted {format_bytes(result.predicted.memory_bytes)}" if result.predicted else ""
        error = f" ({signed(result.error.memory)})" if result.error else ""
        rows.append(
            ("most memory", f"{format_bytes(measured.memory_peak_bytes)} of tensors{predicted}{error}")
        )
    if measured.sum_of_layers_s is not None and measured.layers_gap is not None:
        gap = f"{100 * measured.layers_gap:.0f} % of the step is in no layer"
        rows.append(("sum of layers", f"{format_seconds(measured.sum_of_layers_s)}: {gap}"))
    return tuple((name, value) for name, value in rows if value and value != NOTHING)


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else format_seconds(value)


def _phases(result: MeasurementResult) -> Table:
    measured, predicted, error = result.measured, result.predicted, result.error
    rows = []
    for name in ("forward", "backward", "optimizer"):
        own = getattr(measured.phases, f"{name}_s")
        if own is None:
            continue
        said = getattr(predicted.phases, f"{name}_s") if predicted else None
        rows.append(
            (
                name,
                _seconds(said),
                _seconds(own),
                signed(getattr(error.phases, name)) if error else NOTHING,
                percent(own, measured.step_s.median),
            )
        )
    return Table(
        name="phases",
        title="by phase",
        columns=(
            Column("phase", "left"),
            Column("predicted"),
            Column("measured"),
            Column("error"),
            Column("of step"),
        ),
        rows=tuple(rows),
    )


def _layers(result: MeasurementResult) -> Table:
    """Return the layers that take most of the measured step, those most off marked by their error."""
    measured = result.measured
    predicted = {layer.path: layer for layer in result.predicted.layers} if result.predicted else {}
    errors: dict[str, LayerError] = {e.path: e for e in result.error.layers} if result.error else {}
    largest = sorted(measured.layers, key=lambda layer: -(layer.forward_s + layer.backward_s))[:_SHOWN]
    rows = []
    for layer in largest:
        total = layer.forward_s + layer.backward_s
        said = predicted.get(layer.path)
        error = errors.get(layer.path)
        rows.append(
            (
                layer.path,
                _seconds(said.forward_s + said.backward_s if said else None),
                format_seconds(total),
                signed(error.both if error else None),
                signed(error.forward if error else None),
                signed(error.backward if error else None),
                percent(total, measured.step_s.median),
            )
        )
    return Table(
        name="layers",
        title="the layers that take most",
        columns=(
            Column("layer", "left"),
            Column("predicted"),
            Column("measured"),
            Column("error"),
            Column("forward", optional=True),
            Column("backward", optional=True),
            Column("of step"),
        ),
        rows=tuple(rows),
    )
