"""One training step of a model spread over many devices: tensor, pipeline, sequence, experts, data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError
from estimator.predict.estimate import Bound, BoundTimes, PhaseTimes, StepEstimate
from estimator.predict.factors import host_shares, software_factors
from estimator.predict.interval import DEFAULT_COVERAGE
from estimator.predict.replica import Replica, repeated
from estimator.predict.sharding import split_experts, split_sequence, split_tensors
from estimator.predict.step import (
    ON_DEVICE,
    bound_parts,
    host_excess_s,
    is_unusual,
    layer_times,
    model_flop_share,
    phase_seconds,
    range_of,
)
from estimator.predict.sweep import kernel_times
from estimator.predict.table import PHASES
from estimator.predict.waits import bubble_s, gradients_s, joins_s
from estimator.provenance import Assumption
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.precision import PrecisionPolicy
    from estimator.predict.gpu import KernelTimes
    from estimator.predict.interval import TimeRange
    from estimator.predict.layout import Parallelism
    from estimator.predict.table import KernelTable
    from estimator.software import Software
    from estimator.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """The step of one device: its kernels, seconds of one run of each, and what it waits for."""

    table: KernelTable
    times: KernelTimes
    device_s: float
    host_s: float
    joins_s: float
    bubble_s: float
    gradients_s: float

    @property
    def waiting_s(self) -> float:
        """Seconds that other devices cost."""
        return self.joins_s + self.bubble_s + self.gradients_s

    @property
    def step_s(self) -> float:
        """All of it."""
        return self.device_s + self.host_s + self.waiting_s


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
    replica = Replica.of(workload, policy.weights.itemsize)
    split = _split(
        replica, workload.repeats, system, parallel, software=software, policy=policy, calibration=calibration
    )
    table, per_kernel, parts = split.table, split.times.total_s[:, 0], bound_parts(split.times)
    waits = host_shares(table, software_factors(calibration, software)) * split.host_s
    forward_s, backward_s, optimizer_s, data_s = phase_seconds(table, per_kernel + waits)
    return StepEstimate(
        time=range_of(
            split.step_s, is_unusual(table, per_kernel), system.device,
            policy=policy, calibration=calibration, coverage=coverage, several=system.count > 1,
        ),
        samples=workload.batch * workload.repeats * parallel.data,
        mfu=model_flop_share(workload, system.device, policy, split.step_s * parallel.model_devices),
        phases=PhaseTimes(
            forward_s=forward_s, backward_s=backward_s, optimizer_s=optimizer_s, data_s=data_s,
            communication_s=split.waiting_s,
        ),
        bounds=BoundTimes(
            **{f"{bound.value}_s": table.total(parts[bound]) for bound in ON_DEVICE},
            host_s=split.host_s, communication_s=split.waiting_s,
        ),
        layers=layer_times(workload, table, parts | {Bound.HOST: waits}),
        assumptions=(
            Assumption(
                what="layout",
                value=f"{parallel.data} data x {parallel.tensor} tensor x {parallel.pipeline} pipeline",
                why="as asked for",
            ),
        ),
    )  # fmt: skip


def parallel_time(
    replica: Replica,
    passes: int,
    system: System,
    parallel: Parallelism,
    *,
    software: Software,
    policy: PrecisionPolicy,
    calibration: Calibration,
    coverage: float = DEFAULT_COVERAGE,
) -> TimeRange:
    """Return the time of a step of ``passes`` micro-batches alone, without where it goes."""
    split = _split(
        replica, passes, system, parallel, software=software, policy=policy, calibration=calibration
    )
    return range_of(
        split.step_s, is_unusual(split.table, split.times.total_s[:, 0]), system.device,
        policy=policy, calibration=calibration, coverage=coverage, several=system.count > 1,
    )  # fmt: skip


def _split(
    replica: Replica,
    passes: int,
    system: System,
    parallel: Parallelism,
    *,
    software: Software,
    policy: PrecisionPolicy,
    calibration: Calibration,
) -> _Split:
    asked = parallel.data * parallel.model_devices
    if asked != system.count:
        raise InputError(f"the layout takes {asked} devices, the system has {system.count}")
    table = split_experts(replica.table, parallel.experts)
    table = split_tensors(
        table, replica.stream, parallel.tensor, sequence_parallel=parallel.sequence_parallel
    )
    table = _owned(repeated(split_sequence(table, parallel.context), passes), replica, parallel)
    times = kernel_times(table, system.device, software, calibration)
    per_kernel = times.total_s[:, 0]
    device_s = table.total(per_kernel)
    host_s = host_excess_s(table, system.device, device_s, software, calibration)
    busy_s = device_s + host_s
    sums_s = joins_s(replica, passes, system, parallel, policy)
    head_s = replica.head_s(table, per_kernel) * parallel.pipeline
    updates = table.phase == PHASES.index(Phase.OPTIMIZER)
    waits = host_shares(table, software_factors(calibration, software)) * host_s
    update_s = table.total(np.where(updates, per_kernel + waits, 0.0))
    return _Split(
        table=table,
        times=times,
        device_s=device_s,
        host_s=host_s,
        joins_s=sums_s,
        bubble_s=bubble_s(parallel, passes, head_s, busy_s - update_s + sums_s),
        gradients_s=gradients_s(
            replica, passes, system, parallel, policy=policy, calibration=calibration, busy_s=busy_s
        ),
    )


def _owned(table: KernelTable, replica: Replica, parallel: Parallelism) -> KernelTable:
    """Return the kernels one device runs in a step: its share of the blocks, its part of the update."""
    owners = parallel.pipeline * (parallel.data * parallel.context if parallel.sharding != "none" else 1)
    shared = replica.expert_parameters / replica.parameters if replica.parameters else 0.0
    own = 1.0 if parallel.sharding != "none" else 1.0 - shared * (1.0 - 1.0 / parallel.experts)
    is_update = table.phase == PHASES.index(Phase.OPTIMIZER)
    share = np.where(is_update, own / owners, 1.0 / parallel.pipeline)
    return replace(table, runs=table.runs * share, calls=table.calls * share[table.kernel])
