"""How much training the time in a measurement row covers, and how long a step took by it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.calibrate.row_aliases import UncoveredError
from estimator.units import DAY_S, HOUR_S
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

_BACKWARD = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD)
STEP_MODES: dict[str, tuple[Phase, ...]] = {
    "train_step": (*_BACKWARD, Phase.OPTIMIZER),
    "forward_backward": _BACKWARD,
    "forward": (Phase.FORWARD,),
    "training_forward": (Phase.FORWARD,),
    "backward": (Phase.DGRAD, Phase.WGRAD),
    "optimizer": (Phase.OPTIMIZER,),
}
EPOCH_MODES = frozenset({"epoch"})
TOTAL_MODES = frozenset({"total", "pretrain_total", "finetune_total"})
SECONDS = {"ms": 1e-3, "s": 1.0, "h": HOUR_S, "days": DAY_S}
_NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e\+?\d+)?)"
_EPOCH_SAMPLES = (
    re.compile(rf"\bn={_NUMBER} images"),
    re.compile(rf"epoch of {_NUMBER} (?:[\w-]+ )?images"),
    re.compile(rf"{_NUMBER} training (?:samples|images)"),
    re.compile(rf"\b{_NUMBER} images\b"),
)
_EPOCHS = (
    re.compile(rf"last eval epoch_num={_NUMBER}"),
    re.compile(rf"\bepochs?=? ?{_NUMBER}"),
    re.compile(rf"{_NUMBER} epochs"),
)
_SAMPLES = re.compile(rf"last eval samples_count={_NUMBER}")
_EPOCH_SIZE = re.compile(rf"train_samples\(log\)={_NUMBER}")
_TOKENS = re.compile(r"tokens=\"?~?([\d.]+)T|for ([\d.]+)B tokens|ramp-up[^;]*: ([\d.]+)B tokens")
_STEPS = re.compile(r"max_step (\d+)(?: \((\d+) multinode\))?|\b(\d+)K iterations|1 epoch = (\d+) batches")
_VALIDATION = (
    re.compile(rf"validation forward of {_NUMBER} samples"),
    re.compile(rf"plus {_NUMBER} validation images"),
)
_STEP_TOTAL = re.compile(r"total seconds for (\d+) steps")
_LOG = re.compile(r"last eval epoch_num|\(log\)")
_LARGEST_EPOCHS = 1e5
_FEWEST_TOKENS = 1e8
_MANY_EPOCHS, _MANY_SAMPLES = 100, 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Optimizer steps that a measured time covers, and validation samples passed forward in it."""

    steps: float = 1.0
    validation_samples: float = 0.0


def phases_of(row: MeasuredRow) -> tuple[Phase, ...]:
    """Return what of a training step the row's time holds; runs hold all of it.

    Zeroing and accumulating gradients is counted with the update, so a time that says it holds
    ``zero_grad`` takes that phase in (with an optimizer that updates nothing).
    """
    if row.mode == "forward_backward" and "zero_grad" in row.notes:
        return STEP_MODES["train_step"]
    return STEP_MODES.get(row.mode, STEP_MODES["train_step"])


def span_of(row: MeasuredRow, total_batch: float, seq: int | None, tables: AliasTables) -> Span:
    """Return what the measured time covers; raises UncoveredError when the row does not say."""
    if row.mode in STEP_MODES:
        found = _STEP_TOTAL.search(row.notes)
        return Span(steps=float(found[1]) if found else 1.0)
    if "image size/batch size change during training" in row.notes:
        raise UncoveredError("image size changes during the run")
    samples = _run_samples(row, total_batch, seq, tables)
    return Span(steps=max(1.0, samples / total_batch), validation_samples=_validation(row))


def _run_samples(row: MeasuredRow, total_batch: float, seq: int | None, tables: AliasTables) -> float:
    """Training samples that an epoch or a whole run passes."""
    if row.mode in EPOCH_MODES:
        return _epoch_samples(row, tables)
    if found := _STEPS.search(row.notes):
        many = (row.num_nodes or "1") != "1" and found[2]
        steps = float(found[2] if many else found[1] or found[4] or 1000 * float(found[3]))
        return steps * total_batch
    if found := _TOKENS.search(row.notes):
        if seq is None:
            raise UncoveredError("sequence length not stated")
        return (float(found[1]) * 1e12 if found[1] else float(found[2] or found[3]) * 1e9) / seq
    if found := _SAMPLES.search(row.notes):
        return _number(found[1])
    for pattern in _EPOCHS:
        if found := pattern.search(row.notes):
            return _logged_samples(_number(found[1]), row, total_batch, seq, tables)
    raise UncoveredError("length of the run not stated")


def _logged_samples(
    epochs: float, row: MeasuredRow, total_batch: float, seq: int | None, tables: AliasTables
) -> float:
    """Return samples of a number of epochs; logs that count steps, samples or tokens write large numbers.

    A log that has passed millions of samples hundreds of times counts steps; papers and pages mean epochs
    (EfficientNet takes 400 of ImageNet).
    """
    if epochs < _LARGEST_EPOCHS:
        samples = _epoch_samples(row, tables)
        epochs = _passed(epochs, tables.search("datasets", row.model) or {})
        counts_steps = epochs > _MANY_EPOCHS and samples > _MANY_SAMPLES and _LOG.search(row.notes)
        return epochs * (total_batch if counts_steps else samples)
    return epochs / seq if seq and epochs >= _FEWEST_TOKENS else epochs


def _passed(number: float, dataset: Mapping[str, str]) -> float:
    """Return the epochs passed by the number that a log gives the last one."""
    first, evals = float(dataset.get("first") or 0), float(dataset.get("evals") or 0)
    return number / evals if evals and number > first + 1 else number - first


def _epoch_samples(row: MeasuredRow, tables: AliasTables) -> float:
    """Return the samples of an epoch: a number in the notes, else those of the data set that is named."""
    known = tables.search("datasets", row.model)
    if known and known["over"]:
        return float(known["samples"])
    if found := _EPOCH_SIZE.search(row.notes):
        return _number(found[1])
    for pattern in _EPOCH_SAMPLES:
        if found := pattern.search(row.notes):
            return _number(found[1])
    line = known or tables.search("datasets", row.notes)
    if line is None:
        raise UncoveredError("samples of an epoch not stated")
    return float(line["samples"])


def _validation(row: MeasuredRow) -> float:
    """Return the validation samples that the time says it includes."""
    return next((_number(hit[1]) for pattern in _VALIDATION if (hit := pattern.search(row.notes))), 0.0)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measured time, or the rate of FLOPs that stands for one until the FLOPs are counted."""

    seconds: float | None = None
    flop_per_s: float | None = None
    flops_with_recompute: bool = False


def measured_of(row: MeasuredRow, *, count: int, step_samples: float, items: float) -> Measured:
    """Turn metric and value into seconds of the whole span.

    ``step_samples`` all devices pass in an optimizer step, ``items`` what one sample counts in the rate.
    """
    metric, value = row.metric, row.value
    if metric in SECONDS:
        return Measured(seconds=value * SECONDS[metric])
    if metric in ("samples_per_s", "tokens_per_s") and row.mode in STEP_MODES:
        return Measured(seconds=step_samples * items / value)
    if metric == "gpu_hours":
        return Measured(seconds=value * HOUR_S / count)
    if metric == "tflops_per_gpu":
        recomputed = "INCLUDING full activation recompute" in row.notes
        return Measured(flop_per_s=value * 1e12 * count, flops_with_recompute=recomputed)
    raise UncoveredError(f"metric {metric!r} in mode {row.mode!r}")
