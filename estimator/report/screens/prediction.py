"""The screen of ``estimator predict``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import network_of
from estimator.report.phrases import NOTHING, between, named, percent, range_line
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.prediction import MemorySummary, Prediction, PredictionResult

_SLOWEST = 8
_BOUND_NAMES = {
    "compute_s": "arithmetic",
    "memory_s": "memory traffic",
    "launch_s": "kernel launches",
    "host_s": "waiting for the host",
    "communication_s": "exchange of gradients",
    "serial_s": "serial work",
}


def prediction_screen(result: PredictionResult) -> Screen:
    """Return, for each device, the answer, its range, where the time goes and what was assumed."""
    blocks: list[Block] = []
    for prediction in result.predictions:
        blocks += _one(result, prediction)
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    network = network_of(result.inputs)
    blocks.append(Paragraph(f'next: estimator compare {network} "RTX 4090" "A100-SXM-40GB"', "next"))
    return tuple(blocks)


def _one(result: PredictionResult, prediction: Prediction) -> list[Block]:
    return [
        Answer(_answer(result, prediction)),
        Paragraph(_basis(prediction)),
        Facts(title="", pairs=_facts(prediction)),
        _slowest_layers(prediction),
        Facts(title="assumed", pairs=tuple((a.what, f"{a.value} ({a.why})") for a in prediction.assumptions)),
        Paragraph(""),
    ]


def _answer(result: PredictionResult, prediction: Prediction) -> str:
    network = result.inputs.get("network", "the network")
    where = named(prediction.device)
    step = prediction.step
    rate = (
        f"{format_seconds(step.time_s.expected)} a step, {format_si(step.samples_per_s)} samples/s".replace(
            "  ", " "
        )
    )
    if prediction.total_s is not None:
        return f"{network} on {where}: {format_seconds(prediction.total_s)} in all ({rate})"
    if prediction.epoch_s is not None:
        return f"{network} on {where}: {format_seconds(prediction.epoch_s)} an epoch ({rate})"
    return f"{network} on {where}: {rate}"


def _basis(prediction: Prediction) -> str:
    time = prediction.total_range_s or prediction.epoch_range_s or prediction.step.time_s
    fit = prediction.memory
    if fit.fits is False:
        return f"{range_line(time)}. It does NOT fit: {_fit(fit)}."
    return range_line(time)


def _facts(prediction: Prediction) -> tuple[tuple[str, str], ...]:
    step, total = prediction.step, prediction.step.time_s.expected
    phases = step.phases
    parts = [
        ("forward", phases.forward_s),
        ("backward", phases.backward_s),
        ("optimizer", phases.optimizer_s),
        ("communication", phases.communication_s),
        ("data", phases.data_s),
    ]
    bounds = sorted(
        ((getattr(step.bounds, name), words) for name, words in _BOUND_NAMES.items()), reverse=True
    )
    rows = [
        (
            "phases",
            ", ".join(f"{name} {format_seconds(s)} ({percent(s, total)})" for name, s in parts if s > 0),
        ),
        ("limited by", ", ".join(f"{words} {percent(s, total)}" for s, words in bounds if s > 0.005 * total)),
        ("of peak", NOTHING if step.mfu is None else f"{100 * step.mfu:.1f} % (MFU)"),
        ("memory", _fit(prediction.memory)),
    ]
    if prediction.epoch_range_s is not None and prediction.epoch_s is not None:
        epoch = f"{format_seconds(prediction.epoch_s)}, {between(prediction.epoch_range_s)}"
        rows.insert(0, ("an epoch", epoch))
    return tuple(rows)


def _fit(memory: MemorySummary) -> str:
    parts = (
        f"weights {format_bytes(memory.weights_bytes)}, gradients {format_bytes(memory.gradients_bytes)}, "
        f"optimizer {format_bytes(memory.optimizer_bytes)}, "
        f"activations {format_bytes(memory.activations_bytes)}, other {format_bytes(memory.other_bytes)}"
    )
    if memory.capacity_bytes is None:
        return f"needs {format_bytes(memory.total_bytes)}, the capacity is not known ({parts})"
    verdict = "fits" if memory.fits else "too large"
    largest = f"; the largest batch is {memory.largest_batch:,}" if memory.largest_batch else ""
    return (
        f"{format_bytes(memory.total_bytes)} of {format_bytes(memory.capacity_bytes)}, {verdict}"
        f"{largest} ({parts})"
    )


def _slowest_layers(prediction: Prediction) -> Table:
    total = prediction.step.time_s.expected
    slowest = sorted(prediction.layers, key=lambda layer: -(layer.forward_s + layer.backward_s))[:_SLOWEST]
    return Table(
        name="slowest layers",
        title="slowest layers",
        columns=(
            Column("layer", "left"),
            Column("forward"),
            Column("backward"),
            Column("of step"),
            Column("bound by", "left"),
        ),
        rows=tuple(
            (
                layer.path,
                format_seconds(layer.forward_s),
                format_seconds(layer.backward_s) if layer.backward_s else NOTHING,
                percent(layer.forward_s + layer.backward_s, total),
                layer.bound,
            )
            for layer in slowest
        ),
    )
