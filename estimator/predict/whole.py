"""The time of a step from its kernel table alone: for many batches of one network without new lowerings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.predict.collectives import data_parallel_s
from estimator.predict.interval import DEFAULT_COVERAGE
from estimator.predict.step import host_excess_s, is_unusual, range_of
from estimator.predict.sweep import kernel_times

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.precision import PrecisionPolicy
    from estimator.predict.interval import TimeRange
    from estimator.predict.table import KernelTable
    from estimator.software import Software


def table_time(
    table: KernelTable,
    system: System,
    *,
    software: Software,
    policy: PrecisionPolicy,
    calibration: Calibration,
    exchanged_s: float = 0.0,
    coverage: float = DEFAULT_COVERAGE,
) -> TimeRange:
    """Return the time of one step whose kernels on each device are ``table``.

    ``exchanged_s`` is what the devices' collectives take by themselves. Raises InputError when the device
    lacks the format or a figure that the model needs.
    """
    device = system.device
    per_kernel = kernel_times(table, device, software, calibration).total_s[:, 0]
    device_s = table.total(per_kernel)
    alone_s = device_s + host_excess_s(table, device, device_s, software, calibration)
    _, exposed_s = data_parallel_s(
        alone_s, exchanged_s, system.count, exposure=calibration.exposure, straggler=calibration.straggler
    )
    return range_of(
        alone_s + exposed_s,
        is_unusual(table, per_kernel),
        device,
        policy=policy,
        calibration=calibration,
        coverage=coverage,
        several=system.count > 1,
    )
