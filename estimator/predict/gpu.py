"""The time of each kernel on each of many GPUs, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.precision import DType
from estimator.predict.products import steps_deep, tile_flops
from estimator.predict.table import PHASES
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.hardware.efficiency import SoftwareFactors
    from estimator.predict.fleet import Fleet, Picker
    from estimator.predict.table import KernelTable

    Floats = NDArray[np.float64]

_WINDOW_BYTES = 4  # frameworks that copy windows out compute in fp32
_SLOW_GROUPED = ("grouped.narrow", "grouped.wide")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimes:
    """Seconds one run of each kernel takes on each device, ``(K, D)``.

    ``busy_s`` is the kernel itself, ``launch_s`` what starting it costs, ``compute_bound`` tells which
    of arithmetic and traffic is the longer part of ``busy_s``, ``serial_s`` the part spent on steps that
    wait for each other.
    """

    busy_s: Floats
    launch_s: Floats
    serial_s: Floats
    compute_bound: NDArray[np.bool_]

    @property
    def total_s(self) -> Floats:
        """All of it."""
        return self.busy_s + self.launch_s + self.serial_s

    def of(self, column: int) -> KernelTimes:
        """Return the times on one of the devices, ``(K, 1)``."""
        one = slice(column, column + 1)
        return KernelTimes(
            busy_s=self.busy_s[:, one],
            launch_s=self.launch_s[:, one],
            serial_s=self.serial_s[:, one],
            compute_bound=self.compute_bound[:, one],
        )


def gpu_times(table: KernelTable, fleet: Fleet) -> KernelTimes:
    """Return the time of each kernel of a table on each device of a fleet.

    Where TF32 is allowed it need not be used: the libraries' heuristics choose among kernels of either kind
    (cuDNN: CUDNN_FMA_MATH forbids tensor cores, the other math types allow them).
    """
    times = _times(table, fleet)
    allowed = np.array([category.dtype is DType.TF32 for category in table.categories])[table.category]
    if not allowed.any():
        return times
    categories = tuple(c._replace(dtype=DType.FP32) if c.dtype is DType.TF32 else c for c in table.categories)
    plain = _times(replace(table, categories=categories), fleet)
    better = allowed[:, None] & (plain.busy_s < times.busy_s)
    return replace(
        times,
        busy_s=np.where(better, plain.busy_s, times.busy_s),
        compute_bound=np.where(better, plain.compute_bound, times.compute_bound),
    )


def _times(table: KernelTable, fleet: Fleet) -> KernelTimes:
    pick = _picker(table, fleet)
    work = work_flops(table, fleet, pick)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = pick("depth") * inverse_depth(table, pick)
        compute_s = np.where(work > 0, work * (1.0 + depth) / pick("compute"), 0.0)
    memory_s = traffic_s(table, fleet, pick("memory"))
    busy_s = combine(compute_s, memory_s, pick("order"))
    if table.winograd.any():
        _take_winograd(table, work, pick, busy_s=busy_s, compute_s=compute_s, memory_s=memory_s)
    serial = np.array([category.kind.startswith("serial") for category in table.categories])[table.category]
    serial_s = table.serial_steps[:, None] * pick("step_s")
    if serial.any():
        total = (table.flops + table.elementwise_flops)[serial]
        serial_s[serial] += total[:, None] / fleet.calibration.gpu.scalar_flop_per_s
        busy_s[serial] = 0.0
    return KernelTimes(
        busy_s=busy_s,
        launch_s=launches(table, fleet.factors)[:, None] * fleet.launch_s * fleet.factors.launch,
        serial_s=serial_s,
        compute_bound=compute_s > memory_s,
    )


def inverse_depth(table: KernelTable, pick: Picker) -> Floats:
    """Return ``(K, D)`` one over the depth of each product, which shares what a tile costs beside it."""
    k = table.k[:, None]
    return np.where(k > 0, 1.0 / steps_deep(k, matrix=pick("matrix") > 0), 0.0)


def combine(compute_s: Floats, memory_s: Floats, order: Floats) -> Floats:
    """Return ``(compute^p + memory^p)^(1/p)`` for p of 1, 2 or 4, without calling the slow power."""
    result = compute_s + memory_s
    if (order == 1).all():
        return result
    square = np.sqrt(compute_s**2 + memory_s**2)
    fourth = np.sqrt(np.sqrt(compute_s**4 + memory_s**4)) if (order == 4).any() else square  # noqa: PLR2004  (p)
    return np.where(order == 1, result, np.where(order == 2, square, fourth))  # noqa: PLR2004  (p)


def _picker(table: KernelTable, fleet: Fleet) -> Picker:
    """Return what the devices attain on each kernel; batches of one network share it."""
    known = fleet.pickers.get(table.categories)
    if known is None or not known.is_of(table.category):
        known = fleet.new_picker(table.categories, table.category)
    return known


def work_flops(table: KernelTable, fleet: Fleet, pick: Picker) -> Floats:
    """FLOPs each kernel occupies each device for: by tiles for products, as counted for the rest."""
    work = np.repeat((table.flops + table.elementwise_flops)[:, None], len(fleet.devices), axis=1)
    kinds = np.array([_product_class(category.kind) for category in table.categories])[table.category]
    units, of_device = fleet.units
    matrix = pick("matrix") > 0
    for on_matrix in (False, True):
        rows = np.flatnonzero((kinds == "tiled") & (table.m > 0) & (matrix == on_matrix).any(axis=1))
        if not len(rows):
            continue
        tiled = _tiled(table, rows, units, matrix=on_matrix, lowered=fleet.factors.lowered)[:, of_device]
        chosen = matrix[rows] == on_matrix
        work[rows] = np.where(chosen, tiled, work[rows])
    slow = kinds == "one group"
    if slow.any() and fleet.software.layout == "channels_last":
        one_group = (table.flops / table.groups)[slow]
        work[slow] = np.where(matrix[slow], one_group[:, None], work[slow])
    return work


def _tiled(
    table: KernelTable, rows: NDArray[np.intp], units: Floats, *, matrix: bool, lowered: bool
) -> Floats:
    batch, m, n, k = (column[rows] for column in (table.batch, table.m, table.n, table.k))
    if not lowered:
        return tile_flops(batch, m, n, k, units, matrix=matrix)
    samples = np.maximum(table.samples[rows], 1.0)
    deep = _sums_over_samples(table)[rows]
    m, k = np.where(deep, m, m / samples), np.where(deep, k / samples, k)
    return samples[:, None] * tile_flops(batch, np.ceil(m), n, np.ceil(k), units, matrix=matrix)


def _sums_over_samples(table: KernelTable) -> NDArray[np.bool_]:
    """Tell which convolutions have the batch in the sum of their products, not in their rows."""
    deep: NDArray[np.bool_] = table.phase == PHASES.index(Phase.WGRAD)
    return deep


def launches(table: KernelTable, factors: SoftwareFactors) -> Floats:
    """Return how many launches one run of each kernel is: two a sample where windows are copied out."""
    if not factors.lowered:
        return table.launches
    return np.where(table.samples > 0, table.samples * (1.0 + (table.lowered > 0)), table.launches)


def _product_class(kind: str) -> str:
    if kind in _SLOW_GROUPED:
        return "one group"
    return "tiled" if kind.partition(".")[0] in {"gemm", "bmm", "conv"} else "flat"


def traffic_s(table: KernelTable, fleet: Fleet, rate: Floats) -> Floats:
    """Seconds of memory traffic; what fits the last-level cache runs faster."""
    traffic = table.bytes[:, None]
    if fleet.factors.lowered:
        traffic = traffic + 2.0 * _WINDOW_BYTES * table.lowered[:, None]  # written, and read back
    seconds = traffic / rate
    gain = fleet.calibration.gpu.cache_gain
    if gain > 0:
        with np.errstate(divide="ignore"):
            resident = np.minimum(1.0, fleet.cache_bytes / np.maximum(traffic, 1.0))
        seconds /= 1.0 + gain * resident
    return seconds


def _take_winograd(
    table: KernelTable,
    work: Floats,
    pick: Picker,
    *,
    busy_s: Floats,
    compute_s: Floats,
    memory_s: Floats,
) -> None:
    """Run convolutions the shorter of the direct and the Winograd way, in place."""
    rows = np.flatnonzero(table.winograd)
    rate = pick("winograd_compute")[rows]
    usable = rate > 0
    if not usable.any():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        fast_compute = work[rows] * (1.0 + pick("winograd_depth")[rows] / table.k[rows][:, None]) / rate
        fast_memory = table.bytes[rows][:, None] / pick("winograd_memory")[rows]
        fast = np.sqrt(fast_compute**2 + fast_memory**2)
    better = usable & (fast < busy_s[rows])
    busy_s[rows] = np.where(better, fast, busy_s[rows])
    compute_s[rows] = np.where(better, fast_compute, compute_s[rows])
    memory_s[rows] = np.where(better, fast_memory, memory_s[rows])
