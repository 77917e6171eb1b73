"""The batch of a measurement row: samples of a pass on a rank, and of a step over all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.calibrate.row_aliases import UncoveredError
from estimator.calibrate.row_span import TOTAL_MODES

if TYPE_CHECKING:
    from estimator.calibrate.rows import MeasuredRow
    from estimator.document import Value
    from estimator.predict.layout import Parallelism


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples of a pass on one data-parallel rank (None where only the total is known) and of a step."""

    micro: int | None
    total: float


_MICRO_GLOBAL = re.compile(r"micro (\d+)\s*;\s*global (\d+)")
_GLOBAL = re.compile(r"global(?:/unspecified)? (\d+)")
_GLOBAL_TOKENS = re.compile(r"global ([\d.]+)M tok(?:ens)?")
_RANK = re.compile(r"(\d+)(?:\.0)?(?: per DP rank| per model-parallel group| \(see|$)(?:.*global (\d+)\))?.*")
_GROUP = re.compile(r"(\d+) \(global (\d+)\)")
_GLOBAL_NOTE = re.compile(r"\bglobal_batch=(\d+)|\bGBS=(\d+)|\(global (\d+)\)")
# Runs of a number of steps state the batch of each over all devices, whatever passes a device takes for it:
# Transformer-XL's configurations split it by batch_chunk where there are fewer devices.
_GLOBAL_RUN = re.compile(r"\bglobal batch (\d+)(?: \((\d+) multinode\))?;max_step")
_PIPELINE_PASSES = re.compile(r"\bpp\d+_(\d+)\b")
_LARGE_IMAGE = 256
_MICRO_NOTE = re.compile(r"\bMBS=(\d+)")


def batch_of(row: MeasuredRow, layout: Parallelism, seq: int | None, usual: int | None = None) -> Batch:
    """Read the batch columns; ``usual`` samples a rank stand in where a rate is given without its batch.

    Raises UncoveredError for a batch that is not stated or not one number.
    """
    if special := _special(row, layout, usual):
        return special
    text = row.batch_size
    passes = _passes(row.grad_accum)
    noted = _GLOBAL_NOTE.search(row.notes)
    total = float(next(filter(None, noted.groups()))) if noted else None
    if found := _MICRO_GLOBAL.fullmatch(text) or _GROUP.fullmatch(text):
        return Batch(micro=int(found[1]), total=float(found[2]))
    if found := _GLOBAL_TOKENS.fullmatch(text):
        return Batch(micro=None, total=float(found[1]) * 2**20 / _known(seq))
    if found := _GLOBAL.fullmatch(text):
        return _shared(float(found[1]), row, layout, passes)
    if found := _RANK.fullmatch(text):
        rank = float(found[1])
        micro = 1 if layout.pipeline > 1 and not _fills_pipeline(row) else int(rank)
        total = total or _of_run(row)
        return Batch(micro=micro, total=float(found[2] or total or rank * layout.data * (passes or 1)))
    return _fraction(text, total, layout, passes)


def _special(row: MeasuredRow, layout: Parallelism, usual: int | None) -> Batch | None:
    """Read a number that the notes call global, or put the usual one in for a rate without a batch."""
    if "batch is global" in row.notes and row.batch_size.isdigit():
        return _global(int(row.batch_size), row, layout)
    if _unstated(row.batch_size) and usual and row.metric not in ("ms", "s"):
        return Batch(micro=usual, total=float(usual * layout.data))
    return None


def _of_run(row: MeasuredRow) -> float | None:
    """Return the batch that the notes state for every step of a run, None where they do not."""
    found = _GLOBAL_RUN.search(row.notes) if row.mode in TOTAL_MODES else None
    many = found and found[2] and (row.num_nodes or "1") != "1"
    return float(found[2 if many else 1]) if found else None


def _fills_pipeline(row: MeasuredRow) -> bool:
    """Tell whether a row counts the micro-batches that fill its pipeline; else each is one sample."""
    return (_passes(row.grad_accum) or 1) > 1


def _known(seq: int | None) -> int:
    if seq is None:
        raise UncoveredError("sequence length not stated")
    return seq


def _global(total: int, row: MeasuredRow, layout: Parallelism) -> Batch:
    """Share a global batch over ranks and, where the notes count them, micro-batches of the pipeline."""
    split = _PIPELINE_PASSES.search(row.notes)
    return Batch(micro=total // layout.data // (int(split[1]) if split else 1), total=float(total))


def _shared(total: float, row: MeasuredRow, layout: Parallelism, passes: int | None) -> Batch:
    """Share a global batch over ranks, with the micro-batch of the notes or that of known passes."""
    if micro := _MICRO_NOTE.search(row.notes):
        return Batch(micro=int(micro[1]), total=total)
    return Batch(micro=_whole(total / layout.data / (passes or 1), passes), total=total)


def _whole(rank: float, passes: int | None) -> int | None:
    """Return the samples that a rank passes, where its share is whole and the passes are known."""
    return int(rank) if rank >= 1 and rank == int(rank) and passes else None


def _fraction(text: str, total: float | None, layout: Parallelism, passes: int | None) -> Batch:
    """Read a batch below one sample a device: model-parallel runs state it that way."""
    try:
        share = float(text)
    except ValueError:
        said = "batch not stated" if _unstated(text) else "batch is not one number"
        raise UncoveredError(said) from None
    whole = total or share * layout.data * layout.model_devices * (passes or 1)
    return Batch(micro=None, total=whole)


def _unstated(text: str) -> bool:
    return not text or "?" in text or "not stated" in text


def usual_batch(row: MeasuredRow, facts: dict[str, Value]) -> int | None:
    """Return the samples a device takes at once by the source's script or by image size, or None."""
    if found := re.search(r"script default (\d+)\)", row.notes):
        return int(found[1])
    image = facts.get("image") or facts.get("height")
    return None if not isinstance(image, int) else 64 if image <= _LARGE_IMAGE else 32


def _passes(text: str) -> int | None:
    """Accumulation passes, or None when the cell is empty or no whole number."""
    try:
        return max(1, round(float(text))) if text else None
    except ValueError:
        return None
