"""Use case: how far predicted memory is from what sources state, and whether known fits are said to fit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.case_networks import open_network
from estimator.app.case_systems import system_of
from estimator.app.case_work import recipe_of
from estimator.app.fit import memory_summary, sharded
from estimator.calibrate.case import Case, interpret
from estimator.errors import EstimatorError
from estimator.networks.lowering import lower
from estimator.precision import POLICIES, DType
from estimator.results.accuracy import MemoryAccuracy, MemoryGroup, MemoryRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from estimator.app.case_work import Recipe
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow
    from estimator.hardware.device import Device
    from estimator.results.prediction import MemorySummary

# Metrics of tables of memory: what a step took on one device, what its tensors took (in GiB, as PyTorch's
# allocator counts them), that a batch ran, that it did not fit.
STATED, ALLOCATED, FITS, REFUSED = "memory_gb", "allocated_gib", "fits", "out_of_memory"
_BYTES = {STATED: 1e9, ALLOCATED: 2.0**30}
_CLOSE = 0.2
_MOST_ROWS = 20
# timm's benchmark starts at the same batch for every network and takes the next smaller one of this series
# when a step fails (timm/utils/decay_batch.py: halving, with one step between powers of two).
_SERIES = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
_TIMM, _FOUNDRY = "timm_train", "LLMFOUNDRY"
_WHAT = {
    _TIMM: "timm training on an RTX 3090, AMP: the largest batch of a falling series that ran",
    _FOUNDRY: "llm-foundry's MPT 125M to 70B, FSDP on 8 to 512 A100 or H100: micro-batches that ran",
    "HFDOC": "BERT-large on a V100 16GB, from the guide of transformers",
    "NANOGPT": "nanoGPT and modded-nanogpt, GPT-2 124M: one stated, three fits",
    "STYLEGAN3": "StyleGAN3's list of configurations: the most that tensors took on a GPU",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of one run: bytes on a device, a batch that ran, one that did not fit (None: open).

    ``only_tensors``: the bytes are those of tensors, without what allocator and framework hold beside them.
    """

    group: str
    row: MeasuredRow
    stated_bytes: float | None = None
    only_tensors: bool = False
    ran: int | None = None
    refused: int | None = None


def memory_accuracy(rows: Iterable[MeasuredRow], tables: AliasTables) -> MemoryAccuracy:
    """Compare the memory of all rows that state it, or of which it is known whether they fitted."""
    memory = _Memory(tables)
    found: dict[str, list[MemoryRow]] = defaultdict(list)
    uncovered: dict[str, int] = defaultdict(int)
    for known in _known(rows):
        try:
            found[known.group].append(memory.compared(known))
        except EstimatorError as error:
            uncovered[error.message.splitlines()[0]] += 1
    every = [row for members in found.values() for row in members]
    far = sorted((row for row in every if row.off), key=lambda row: -abs(row.off or 0.0))
    return MemoryAccuracy(
        groups=tuple(_group(name, members) for name, members in found.items()),
        stated=tuple(row for row in every if row.stated_bytes is not None),
        far=tuple(_distinct(row for row in far if row.stated_bytes is None)),
        uncovered=tuple(sorted(uncovered.items(), key=lambda each: -each[1])),
    )


def _known(rows: Iterable[MeasuredRow]) -> Iterable[_Known]:
    """Give what rows say of memory; rows that say nothing of it are passed over."""
    for row in rows:
        if row.source_id == _TIMM and row.mode == "train_step":
            batch = round(float(row.batch_size))
            place = _SERIES.index(batch) if batch in _SERIES else 0
            yield _Known(group=_TIMM, row=row, ran=batch, refused=_SERIES[place - 1] if place else None)
        elif row.source_id == _FOUNDRY:
            yield _Known(group=_FOUNDRY, row=row, ran=round(float(row.batch_size)))
        elif row.metric in (STATED, ALLOCATED, FITS, REFUSED):
            batch = round(float(row.batch_size))
            step = replace(row, mode="train_step", metric="ms", value=1.0)
            yield _Known(
                group=row.source_id,
                row=step,
                stated_bytes=row.value * _BYTES[row.metric] if row.metric in _BYTES else None,
                only_tensors=row.metric == ALLOCATED,
                ran=batch if row.metric == FITS else None,
                refused=batch if row.metric == REFUSED else None,
            )


class _Memory:
    """Memory of cases; what was lowered for one is kept for others of the same recipe and batch."""

    def __init__(self, tables: AliasTables) -> None:
        self._tables = tables
        self._summaries: dict[tuple[object, ...], tuple[MemorySummary, int]] = {}

    def compared(self, known: _Known) -> MemoryRow:
        """Return what is predicted beside what is known; raises EstimatorError where nothing is predicted."""
        case = interpret(known.row, self._tables)
        if not isinstance(case, Case):
            raise EstimatorError(case.reason)
        system = system_of(case, self._tables).system
        batch = case.micro_batch or 1
        recipe = recipe_of(case, system.device.kind)
        summary, tensors = self._summary(case, recipe, system.device, batch)
        return MemoryRow(
            group=known.group,
            network=case.network.name,
            label=f"{known.row.model} {known.row.input_shape}".strip(),
            recipe=_recipe(case),
            device=system.device.id,
            devices=case.count,
            batch=batch,
            predicted_bytes=tensors if known.only_tensors else summary.total_bytes,
            capacity_bytes=summary.capacity_bytes,
            largest_batch=summary.largest_batch,
            stated_bytes=known.stated_bytes,
            ran=known.ran,
            refused=known.refused,
        )

    def _summary(self, case: Case, recipe: Recipe, device: Device, batch: int) -> tuple[MemorySummary, int]:
        """Return what is predicted in all, and the bytes of tensors in it."""
        parallel = case.parallel
        key = (recipe, device.id, batch, parallel, case.software.era)
        if key in self._summaries:
            return self._summaries[key]
        training = recipe.training(batch)
        if parallel is not None and parallel.sharding == "fsdp" and training.precision.autocast:
            # FSDP casts the shards itself: the layers meet half-precision weights and cast nothing.
            half = "bf16" if training.precision.product is DType.BF16 else "fp16"
            training = replace(training, precision=POLICIES.get(half))
        network = open_network(recipe.network.name, dict(recipe.network.params))
        ends = [lower(network, replace(training, batch=size)) for size in (batch, 2 * batch)]
        first, second = (
            work.footprint if parallel is None else sharded(work, training.precision, parallel)
            for work in ends
        )
        summary = memory_summary(first, second, device, batch, case.software.era)
        self._summaries[key] = summary, first.total_bytes
        return self._summaries[key]


def _recipe(case: Case) -> str:
    """Tell precision, optimizer, layout of images and checkpointing of a run."""
    said = [case.precision, case.optimizer]
    said += ["channels-last"] if case.row.layout == "NHWC" else []
    said += ["checkpointing"] if case.recompute == "full" else []
    return " ".join(said)


def _group(name: str, rows: Sequence[MemoryRow]) -> MemoryGroup:
    stated = [row.off for row in rows if row.stated_bytes is not None and row.off is not None]
    ran = [row for row in rows if row.ran is not None]
    refused = [row for row in rows if row.refused is not None]
    bracketed = [row.off for row in rows if row.ran is not None and row.refused is not None]
    return MemoryGroup(
        group=name,
        what=_WHAT.get(name, name),
        rows=len(rows),
        stated=len(stated),
        bias=float(np.median(stated)) if stated else None,
        median_error=float(np.median(np.abs(stated))) if stated else None,
        close=float(np.mean(np.abs(stated) <= _CLOSE)) if stated else None,
        ran=len(ran),
        ran_said=sum(row.says_ran for row in ran),
        refused=len(refused),
        refused_said=sum(row.says_refused for row in refused),
        bracketed=len(bracketed),
        bracketed_close=sum(abs(off or 0.0) <= _CLOSE for off in bracketed),
    )


def _distinct(rows: Iterable[MemoryRow]) -> list[MemoryRow]:
    """Return the first rows of different networks."""
    seen: dict[str, MemoryRow] = {}
    for row in rows:
        seen.setdefault(row.network + row.group, row)
        if len(seen) == _MOST_ROWS:
            break
    return list(seen.values())
