"""One training step of a workload on a system: its time, range, phases, bounds and layers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from estimator.hardware.architecture import DeviceKind
from estimator.predict.assumptions import assumptions_of
from estimator.predict.collectives import data_parallel_s, exchange_s
from estimator.predict.cpu import cpu_peak
from estimator.predict.estimate import Bound, BoundTimes, LayerTimes, PhaseTimes, StepEstimate
from estimator.predict.factors import host_seconds, host_shares, software_factors
from estimator.predict.interval import (
    DEFAULT_COVERAGE,
    find_spread,
    half_width,
    spread_keys,
    tier_of,
    time_range,
)
from estimator.predict.paths import product_path
from estimator.predict.sweep import kernel_times, with_host
from estimator.predict.table import BACKWARD, PHASES, build_table
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.precision import PrecisionPolicy
    from estimator.predict.gpu import KernelTimes
    from estimator.predict.interval import TimeRange
    from estimator.predict.table import Category, KernelTable
    from estimator.software import Software
    from estimator.workload.workload import Workload

    Floats = NDArray[np.float64]

ON_DEVICE = (Bound.COMPUTE, Bound.MEMORY, Bound.LAUNCH, Bound.SERIAL)
_UNUSUAL = ("grouped", "depthwise.large", "custom", "recurrent", "scatter")
_UNUSUAL_SHARE = 0.2


def estimate_step(
    workload: Workload,
    system: System,
    *,
    software: Software,
    policy: PrecisionPolicy,
    calibration: Calibration,
    coverage: float = DEFAULT_COVERAGE,
    measured_here: bool = False,
    input_samples_per_s: float | None = None,
    table: KernelTable | None = None,
    times: KernelTimes | None = None,
) -> StepEstimate:
    """Return the time of one step: ``repeats`` passes of the batch on each device, then the optimizer.

    ``input_samples_per_s`` is what the input pipeline delivers to each device; None takes it as never the
    limit. ``table`` are the workload's kernels, ``times`` theirs on the device, ``(K, 1)``, where they were
    made before.
    Raises InputError when the device lacks the format or a figure that the model needs.
    """
    table = table or build_table(workload)
    device = system.device
    times = times or kernel_times(table, device, software, calibration)
    parts, per_kernel = bound_parts(times), times.total_s[:, 0]
    device_s = table.total(per_kernel)
    host_s = host_excess_s(table, device, device_s, software, calibration)
    alone_s = device_s + host_s
    exchange = sum(exchange_s(c.kind, c.bytes, system, buckets=c.buckets) for c in workload.collectives)
    _, exposed_s = data_parallel_s(
        alone_s, exchange, system.count, exposure=calibration.exposure, straggler=calibration.straggler
    )
    data_s = _data_excess_s(alone_s + exposed_s, workload, input_samples_per_s)
    host_by_kernel = host_shares(table, software_factors(calibration, software)) * host_s
    forward_s, backward_s, optimizer_s, copies_s = phase_seconds(table, per_kernel + host_by_kernel)
    seconds = {bound: table.total(parts[bound]) for bound in ON_DEVICE}
    expected = alone_s + exposed_s + data_s
    return StepEstimate(
        time=range_of(
            expected, is_unusual(table, per_kernel), device,
            policy=policy, calibration=calibration, coverage=coverage, measured_here=measured_here,
            several=system.count > 1,
        ),
        samples=workload.batch * workload.repeats * system.count,
        mfu=model_flop_share(workload, device, policy, expected),
        phases=PhaseTimes(
            forward_s=forward_s,
            backward_s=backward_s,
            optimizer_s=optimizer_s,
            communication_s=exposed_s,
            data_s=copies_s + data_s,
        ),
        bounds=BoundTimes(
            compute_s=seconds[Bound.COMPUTE], memory_s=seconds[Bound.MEMORY],
            launch_s=seconds[Bound.LAUNCH], host_s=host_s + data_s, communication_s=exposed_s,
            serial_s=seconds[Bound.SERIAL],
        ),
        layers=layer_times(workload, table, parts | {Bound.HOST: host_by_kernel}),
        assumptions=assumptions_of(system, software, policy, calibration),
    )  # fmt: skip


def bound_parts(times: KernelTimes) -> dict[Bound, Floats]:
    """Return the seconds of one run of each kernel, by what bounds it."""
    busy = times.busy_s[:, 0]
    compute = times.compute_bound[:, 0]
    return {
        Bound.COMPUTE: np.where(compute, busy, 0.0),
        Bound.MEMORY: np.where(compute, 0.0, busy),
        Bound.LAUNCH: times.launch_s[:, 0],
        Bound.SERIAL: times.serial_s[:, 0],
    }


def host_excess_s(
    table: KernelTable, device: Device, device_s: float, software: Software, calibration: Calibration
) -> float:
    """Return the seconds a GPU waits for its host to issue kernels and to copy the input."""
    if device.kind is DeviceKind.CPU:
        return 0.0
    host_s = host_seconds(table, software_factors(calibration, software))
    return float(with_host(device_s, host_s)) - device_s


def phase_seconds(table: KernelTable, per_kernel: Floats) -> tuple[float, float, float, float]:
    """Return the seconds of forward, backward (with what it computes again), optimizer and data."""
    by_phase = dict(zip(PHASES, table.by_phase(per_kernel).tolist(), strict=True))
    backward_s = sum(by_phase[phase] for phase in BACKWARD)
    return by_phase[Phase.FORWARD], backward_s, by_phase[Phase.OPTIMIZER], by_phase[Phase.DATA]


def _data_excess_s(step_s: float, workload: Workload, input_samples_per_s: float | None) -> float:
    """Seconds a device waits for its input, which is read while it computes."""
    if not input_samples_per_s:
        return 0.0
    return float(with_host(step_s, workload.batch * workload.repeats / input_samples_per_s)) - step_s


def is_unusual(table: KernelTable, per_kernel: Floats) -> bool:
    """Tell whether much of the time goes to kernels whose speed is hard to tell."""
    unusual = _unusual(table.categories)
    total = table.total(per_kernel)
    return table.total(np.where(unusual[table.category], per_kernel, 0.0)) > _UNUSUAL_SHARE * total


@lru_cache(maxsize=64)
def _unusual(categories: tuple[Category, ...]) -> NDArray[np.bool_]:
    return np.array([category.kind.startswith(_UNUSUAL) for category in categories], dtype=bool)


def range_of(
    expected_s: float,
    unusual: bool,  # noqa: FBT001  (a stratum of the table of spreads)
    device: Device,
    *,
    policy: PrecisionPolicy,
    calibration: Calibration,
    coverage: float,
    measured_here: bool = False,
    several: bool = False,
) -> TimeRange:
    """Return the range of a time on a device, as wide as what its calibration rests on asks for.

    ``several``: it is one of devices that work together.
    """
    tier = tier_of(device, calibration, measured_here=measured_here)
    keys = spread_keys(tier, kind=device.kind.value, precision=policy.name, unusual=unusual, several=several)
    spread = find_spread(calibration.spreads, keys)
    return time_range(expected_s, half_width(spread, coverage), coverage, str(tier))


def model_flop_share(
    workload: Workload, device: Device, policy: PrecisionPolicy, step_s: float
) -> float | None:
    """Return the FLOPs of forward and backward over what the path of the products could do in the time."""
    if device.kind is DeviceKind.CPU:
        peak = cpu_peak(device, policy.product)
    else:
        peak = product_path(device, policy.product).peak
    flops = (workload.forward_flops + workload.backward_flops) * workload.repeats
    return flops / (peak * step_s) if step_s > 0 else None


def layer_times(workload: Workload, table: KernelTable, parts: dict[Bound, Floats]) -> LayerTimes:
    """Return the time of each layer; ``parts`` are seconds of one run of each kernel by bound."""
    layers, bounds = workload.layers, tuple(parts)
    forward, backward = table.passes_by_layer(np.array(list(parts.values())), len(layers))
    largest = (forward + backward).argmax(axis=0)
    return LayerTimes(
        paths=tuple(layer.path for layer in layers),
        forward_s=tuple(forward.sum(axis=0).tolist()),
        backward_s=tuple(backward.sum(axis=0).tolist()),
        bounds=tuple(bounds[i] for i in largest.tolist()),
    )
