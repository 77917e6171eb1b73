"""Guesses how a large model was spread over devices where its row does not say."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from estimator.predict.layout import Parallelism

if TYPE_CHECKING:
    from estimator.calibrate.case import Case
    from estimator.hardware.device import Device

_STATE_BYTES = 18  # a parameter under Adam in mixed precision: weight, gradient, master copy, two moments
_FROZEN_BYTES = 2  # a parameter that is not trained: the weight alone
_SHARE = 0.6  # of the memory; activations and buffers take the rest
_MOST_TENSOR = 8
_MOST_MICRO = 8
_DEFAULT_MEMORY = 80 * 2**30
_SMALL_MODEL = 2e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A parallel layout, the samples a rank passes at once, and what of them was guessed."""

    parallel: Parallelism
    micro_batch: int
    assumptions: tuple[str, ...] = ()

    def accumulation(self, step_samples: float) -> int:
        """Return the passes before an optimizer step."""
        return max(1, round(step_samples / (self.micro_batch * self.parallel.data)))


def layout_of(case: Case, parameters: int, device: Device, *, frozen: int = 0) -> Layout:
    """Return the case's layout, with the usual choice for what the row leaves open.

    Tensor parallelism within a node grows until weights and optimizer state fit, then the pipeline; a
    replica that would get less than one sample is widened further. ``frozen`` of the parameters are not
    trained, as under adapters.
    """
    said: list[str] = []
    parallel = case.parallel
    if parallel is None:
        state = _STATE_BYTES * (parameters - frozen) + _FROZEN_BYTES * frozen
        parallel = _guess(case, state, device.memory_bytes or _DEFAULT_MEMORY)
        sizes = f"{parallel.data} data x {parallel.tensor} tensor x {parallel.pipeline} pipeline"
        said.append(f"layout not stated: {sizes}")
    micro = case.micro_batch
    if micro is None:
        share = max(1, int(case.step_samples // parallel.data))
        deep = {"d", "layers"} <= dict(case.network.params).keys()  # transformers; others pass all at once
        micro = 1 if parameters > _SMALL_MODEL else min(_MOST_MICRO, share) if deep else share
        said.append(f"micro-batch not stated: {micro}")
    return Layout(parallel=parallel, micro_batch=micro, assumptions=tuple(said))


def _guess(case: Case, state_bytes: int, memory_bytes: float) -> Parallelism:
    per_node = max(1, case.count // case.nodes)
    tensor, pipeline = 1, 1
    while case.count % (2 * tensor * pipeline) == 0 and (
        state_bytes / (tensor * pipeline) > _SHARE * memory_bytes
        or case.count / (tensor * pipeline) > ceil(case.step_samples)
    ):
        if 2 * tensor <= min(_MOST_TENSOR, per_node):
            tensor *= 2
        else:
            pipeline *= 2
    return Parallelism(
        data=case.count // (tensor * pipeline), tensor=tensor, pipeline=pipeline, sharding="zero1",
        sequence_parallel=tensor > 1,
    )  # fmt: skip


def widened(parallel: Parallelism) -> bool:
    """Tell whether a step needs more than replicas that exchange gradients."""
    return parallel.model_devices > 1 or parallel.sharding == "fsdp"
