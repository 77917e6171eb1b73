"""One training step of a model spread over many devices: tensor, pipeline, sequence and sharded data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError
from estimator.predict.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    devices_per_node,
    exchange_s,
    ring_s,
)
from estimator.predict.estimate import Bound, BoundTimes, PhaseTimes, StepEstimate
from estimator.predict.interval import DEFAULT_COVERAGE
from estimator.predict.sharding import Stream, split_sequence, split_tensors
from estimator.predict.step import (
    ON_DEVICE,
    bound_parts,
    host_excess_s,
    is_unusual,
    layer_times,
    model_flop_share,
    phase_seconds,
    range_of,
    share_of_launches,
)
from estimator.predict.sweep import kernel_times
from estimator.predict.table import PHASES, build_table
from estimator.provenance import Assumption
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import Interconnect, System
    from estimator.precision import PrecisionPolicy
    from estimator.predict.table import KernelTable
    from estimator.software import Software
    from estimator.workload.workload import Workload

_PASSES = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD, Phase.RECOMPUTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """How a model is spread: ``data`` x ``tensor`` x ``pipeline`` x ``context`` devices.

    ``virtual``: interleaved stages a device; ``sharding``: none, zero1 (optimizer state over the data-
    parallel ranks), fsdp (weights and gradients too).
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    virtual: int = 1
    sharding: str = "none"
    sequence_parallel: bool = False

    @property
    def model_devices(self) -> int:
        """Devices that hold one replica between them."""
        return self.tensor * self.pipeline * self.context


def estimate_parallel_step(
    workload: Workload,
    system: System,
    parallel: Parallelism,
    *,
    software: Software,
    policy: PrecisionPolicy,
    calibration: Calibration,
    coverage: float = DEFAULT_COVERAGE,
) -> StepEstimate:
    """Return the time of a step; ``workload`` is the whole model on one micro-batch, ``repeats`` of them.

    Blocks are spread evenly over the pipeline; what follows the last norm (the logits) stays on the last
    stage, which every micro-batch waits for. Raises InputError when the layout does not fill the system.
    """
    asked = parallel.data * parallel.model_devices
    if asked != system.count:
        raise InputError(f"the layout takes {asked} devices, the system has {system.count}")
    whole = build_table(workload)
    split = split_tensors(
        whole, Stream.of(workload), parallel.tensor, sequence_parallel=parallel.sequence_parallel
    )
    table = split_sequence(split, parallel.context)
    table = _owned(table, parallel)
    times = kernel_times(table, system.device, software, calibration)
    parts, per_kernel = bound_parts(times), times.total_s[:, 0]
    device_s = table.total(per_kernel)
    host_s = host_excess_s(table, system.device, device_s, software, calibration)
    busy_s = device_s + host_s
    joins_s = _joins_s(whole, workload, system, parallel, policy)
    bubble_s = _bubble_s(table, parallel, per_kernel, workload, busy_s + joins_s)
    exchange_exposed_s = _gradients_s(
        workload, system, parallel, policy=policy, calibration=calibration, busy_s=busy_s
    )
    waiting_s = joins_s + bubble_s + exchange_exposed_s
    by_kernel = per_kernel + share_of_launches(table) * host_s
    forward_s, backward_s, optimizer_s, data_s = phase_seconds(table, by_kernel)
    expected = busy_s + waiting_s
    return StepEstimate(
        time=range_of(
            expected, is_unusual(table, per_kernel), system.device,
            policy=policy, calibration=calibration, coverage=coverage,
        ),
        samples=workload.batch * workload.repeats * parallel.data,
        mfu=model_flop_share(workload, system.device, policy, expected * parallel.model_devices),
        phases=PhaseTimes(
            forward_s=forward_s, backward_s=backward_s, optimizer_s=optimizer_s, data_s=data_s,
            communication_s=waiting_s,
        ),
        bounds=BoundTimes(
            **{f"{bound.value}_s": table.total(parts[bound]) for bound in ON_DEVICE},
            host_s=host_s, communication_s=waiting_s,
        ),
        layers=layer_times(workload, table, parts | {Bound.HOST: share_of_launches(table) * host_s}),
        assumptions=(
            Assumption(
                what="layout",
                value=f"{parallel.data} data x {parallel.tensor} tensor x {parallel.pipeline} pipeline",
                why="as asked for",
            ),
        ),
    )  # fmt: skip


def _owned(table: KernelTable, parallel: Parallelism) -> KernelTable:
    """Return the kernels one device runs in a step: its share of the blocks, its part of the update."""
    update = parallel.pipeline * (parallel.data if parallel.sharding != "none" else 1)
    share = np.where(table.phase == PHASES.index(Phase.OPTIMIZER), 1.0 / update, 1.0 / parallel.pipeline)
    shrink = np.where(table.phase == PHASES.index(Phase.OPTIMIZER), parallel.context, 1.0)
    share = share / shrink if parallel.sharding != "none" else share
    return replace(table, runs=table.runs * share, calls=table.calls * share[table.kernel])


def _joins_s(
    whole: KernelTable, workload: Workload, system: System, parallel: Parallelism, policy: PrecisionPolicy
) -> float:
    """Seconds a step spends on sums within blocks and on hand-overs between stages; nothing hides them."""
    stream = Stream.of(workload)
    if stream is None:
        return 0.0
    size = stream.elements * policy.activations.itemsize / parallel.context
    seconds = 0.0
    if parallel.tensor > 1:
        link = _link(system, parallel.tensor)
        # joins counts all micro-batches: twice as many in backward, once more under recomputation
        passes = 3.0 if Phase.RECOMPUTE in _phases(whole) else 2.0
        seconds += passes * stream.joins / parallel.pipeline * ring_s(ALL_REDUCE, size, parallel.tensor, link)
    if parallel.context > 1:
        link = _link(system, parallel.tensor * parallel.context)
        gathers = 1.5 * stream.joins / parallel.pipeline  # keys and values, a half of the norms, thrice
        seconds += gathers * ring_s(ALL_GATHER, 2 * size * parallel.context, parallel.context, link)
    if parallel.pipeline > 1:
        link = _link(system, system.count)
        one = link.alpha_s + size / link.bus_bytes_per_s
        seconds += 2.0 * workload.repeats * parallel.virtual * one
    return seconds


def _phases(table: KernelTable) -> set[Phase]:
    return {PHASES[index] for index in np.unique(table.phase)}


def _link(system: System, devices: int) -> Interconnect:
    """Return the link that so many neighbouring devices are joined by."""
    link = system.within if devices <= devices_per_node(system) else system.between
    if link is None:
        raise InputError(f"nothing says what joins {devices} devices", hint="name a link")
    return link


def _bubble_s(
    table: KernelTable,
    parallel: Parallelism,
    per_kernel: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    workload: Workload,
    busy_s: float,
) -> float:
    """Seconds a device waits for the pipeline to fill, to drain, and for the stage with the logits."""
    if parallel.pipeline <= 1:
        return 0.0
    layers = table.by_layer(per_kernel, len(workload.layers), _PASSES)[:-1]
    norms = [i for i, layer in enumerate(workload.layers) if "Norm" in layer.kind]
    head_s = float(layers[norms[-1] + 1 :].sum()) * parallel.pipeline if norms else 0.0
    uneven_s = head_s * (1.0 - 1.0 / parallel.pipeline)
    stage_s = (busy_s + uneven_s) / workload.repeats
    return uneven_s + (parallel.pipeline - 1) / parallel.virtual * stage_s


def _gradients_s(
    workload: Workload,
    system: System,
    parallel: Parallelism,
    *,
    policy: PrecisionPolicy,
    calibration: Calibration,
    busy_s: float,
) -> float:
    """Seconds of exchanging gradients (and sharded weights) that the passes do not hide."""
    if parallel.data <= 1:
        return 0.0
    per_node = devices_per_node(system)
    inside = max(1, min(parallel.data, per_node // min(per_node, parallel.tensor * parallel.context)))
    ranks = replace(system, count=parallel.data, nodes=ceil(parallel.data / inside))
    if parallel.data % ranks.nodes:
        ranks = replace(ranks, nodes=parallel.data)
    half = policy.product.itemsize if policy.autocast or policy.weights.itemsize < 4 else 4  # noqa: PLR2004
    size = workload.parameters / parallel.pipeline / parallel.tensor
    if parallel.sharding == "fsdp":
        gathers = 2.0 * workload.repeats
        total = gathers * exchange_s(ALL_GATHER, size * half, ranks)
        total += workload.repeats * exchange_s(REDUCE_SCATTER, size * half, ranks)
        return max(calibration.least_exposed * total, total - calibration.hidden_share * busy_s)
    kinds = (ALL_REDUCE,) if parallel.sharding == "none" else (REDUCE_SCATTER, ALL_GATHER)
    total = sum(exchange_s(kind, size * half, ranks) for kind in kinds)
    return calibration.exposure * total + busy_s * calibration.straggler * float(np.log2(parallel.data))
