"""The time of each operator on each of many CPUs: terms that add, as reorders run before the product."""

from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError
from estimator.precision import DType
from estimator.predict.factors import call_seconds, software_factors
from estimator.predict.fleet import scales_of
from estimator.predict.gpu import KernelTimes
from estimator.predict.table import PHASES
from estimator.workload.kernel import FRESH, IN_PLACE, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration, CpuRegime, SoftwareFactors
    from estimator.predict.table import Category, KernelTable
    from estimator.software import Software

    Floats = NDArray[np.float64]

_PAGE_BYTES = 4096
_FP32_BYTES = 4
_COUNTED_BY_WIDTH = frozenset({DType.FP32, DType.FP64})
_BLAS_KINDS = frozenset({"gemm", "bmm", "attention", "recurrent"})  # convolutions have a library of their own
_FAST_CORES_ALONE = "apple"
_KINDS_WITHOUT_OUTPUT = ("optimizer", "serial")
_WIDER = {DType.TF32: DType.FP32, DType.FP16: DType.FP32, DType.BF16: DType.FP32, DType.FP8: DType.FP32}


def cpu_times(
    table: KernelTable, devices: Sequence[Device], software: Software, calibration: Calibration
) -> KernelTimes:
    """Return the time of each kernel of a table on each CPU, ``(K, D)``."""
    regimes = [
        calibration.cpu.regimes[cpu_regime_key(calibration, category, software)]
        for category in table.categories
    ]
    factors = software_factors(calibration, software)
    pick = _RegimePicker(regimes, table.category)
    slower = np.array([cpu_time_factor(factors, category) for category in table.categories])[table.category]
    units = [(category.dtype, calls_blas(category)) for category in table.categories]
    peaks = {
        (d, blas): [cpu_peak(device, d, factors, blas=blas) for device in devices] for d, blas in set(units)
    }
    peak = np.array([peaks[unit] for unit in units])
    clocks = np.array([device.clock_hz for device in devices])
    cores = np.array([cpu_cores(device) for device in devices])
    compute_scale, memory_scale, launch_scale = _scales(devices, calibration)
    working = working_cores(table, calibration, cores)
    draw = clocks * working * calibration.cpu.core_bytes_per_clock * memory_scale
    bus = np.array([bus_bytes_per_s(device, calibration) for device in devices])

    with np.errstate(divide="ignore", invalid="ignore"):
        product_s = (table.flops / pick("compute"))[:, None] / (
            peak[table.category] * (working / cores) * compute_scale
        )
    product_s = np.where(table.flops[:, None] > 0, product_s, 0.0)
    moved = table.bytes - table.weight_bytes
    lanes = np.where(pick("serial")[:, None] > 0, 1.0, working)
    cycles = pick("cycles")[:, None]
    by_core_s = np.where(
        cycles > 0,
        table.elements[:, None] * cycles / (clocks * lanes * compute_scale),
        (moved / pick("memory"))[:, None] / draw,
    )
    memory_s = _longer(by_core_s, moved[:, None] / bus)
    weights_s = _longer(
        (table.weight_bytes / pick("weights"))[:, None] / draw, table.weight_bytes[:, None] / bus
    )
    a_page_s = np.array([fault_share(device, calibration) for device in devices]) * calibration.cpu.fault_s
    faults_s = large_pages(table, calibration, factors)[:, None] * a_page_s
    busy_s = (product_s + memory_s + weights_s) * slower[:, None] + faults_s

    serial = np.array([category.kind.startswith("serial") for category in table.categories])[table.category]
    serial_s = (table.serial_steps * pick("step_s"))[:, None] * launch_scale
    work = np.where(serial, table.flops + table.elementwise_flops, 0.0)
    serial_s += work[:, None] / (clocks * calibration.cpu.scalar_flop_per_cycle)
    busy_s[serial] = 0.0
    alone_s = table.launches * (pick("overhead_s") + factors.operator_s) + _optimizer_call_s(table, factors)
    together_s = barriers(table, working) * calibration.cpu.barrier_s
    launch_s = (alone_s[:, None] + together_s) * launch_scale
    return KernelTimes(
        busy_s=busy_s,
        launch_s=launch_s,
        serial_s=serial_s,
        compute_bound=product_s + np.where(cycles > 0, memory_s, 0.0)
        > weights_s + faults_s + np.where(cycles > 0, 0.0, memory_s),
    )


def _optimizer_call_s(table: KernelTable, factors: SoftwareFactors) -> Floats:
    """Share what an optimizer's call costs out to its kernels; other calls have nothing to hand over.

    A table may hold several batches' kernels below one another; each of them has the runs of the first.
    """
    updates = table.phase == PHASES.index(Phase.OPTIMIZER)
    runs = float(table.runs[updates[: len(table.runs)]].sum())
    each = call_seconds(table, factors, "optimizer") / runs if runs else 0.0
    return np.where(updates, each, 0.0)


def working_cores(table: KernelTable, calibration: Calibration, cores: Floats) -> Floats:
    """Return how many of the cores work on each kernel, ``(K, D)``: few on short loops and small products."""
    launches = np.maximum(table.launches, 1.0)
    elements = np.maximum(table.elements, table.bytes_written / _FP32_BYTES) / launches
    parts = np.where(
        table.flops > 0,
        table.flops / launches / calibration.cpu.grain_flops,
        elements / calibration.cpu.grain_elements,
    )
    return np.minimum(np.maximum(np.ceil(parts), 1.0)[:, None], cores)


def barriers(table: KernelTable, working: Floats) -> Floats:
    """Return how often cores wait for each other in each kernel, by doublings of their number."""
    return table.launches[:, None] * np.log2(np.maximum(working, 1.0))


def cpu_peak(
    device: Device, dtype: DType, factors: SoftwareFactors | None = None, *, blas: bool = False
) -> float:
    """Return the rate of products in ``dtype``; formats a CPU lacks are computed in fp32.

    ``factors`` tell which of the CPU's instructions the framework was built for, and its library of matrix
    products (``blas``) uses.
    """
    peak = _own_peak(device, dtype) * even_share(device)
    if factors is None:
        return peak
    counted = dtype in _COUNTED_BY_WIDTH
    narrower = dtype.itemsize / _FP32_BYTES if counted else 1.0
    limits = [factors.flop_per_clock]
    if blas and counted:
        limits.append(factors.blas_flop_per_clock.get(device.vendor.lower()))
    per_clock = [limit / narrower for limit in limits if limit is not None]
    return min([peak, *(each * device.clock_hz * cpu_cores(device) for each in per_clock)])


def even_share(device: Device) -> float:
    """Return how much of their rates together a CPU's cores attain when each gets an equal part of a loop.

    OpenMP's static schedule makes the fast cores of a hybrid CPU wait for the slow ones; on Apple's, PyTorch
    starts threads for the fast ones alone (ATen/ParallelCommon.cpp: hw.perflevel0.physicalcpu).
    """
    slow = device.efficiency_cores
    if slow is None or not slow.units:
        return 1.0
    fast_rate = device.architecture.vector[DType.FP32] * device.clock_hz
    slow_rate = slow.architecture.vector[DType.FP32] * slow.clock_hz
    together = device.units * fast_rate + slow.units * slow_rate
    if device.vendor.lower() == _FAST_CORES_ALONE:
        return device.units * fast_rate / together
    return (device.units + slow.units) * min(fast_rate, slow_rate) / together


def calls_blas(category: Category) -> bool:
    """Tell whether a class of operators hands its products to the library of matrix products."""
    return category.stem in _BLAS_KINDS


def _own_peak(device: Device, dtype: DType) -> float:
    peak = device.peaks.best(dtype) or (device.peaks.best(_WIDER[dtype]) if dtype in _WIDER else None)
    if peak is None and not dtype.is_floating:
        peak = device.peaks.best(DType.FP32)
    if peak is None:
        raise InputError(f"{device.name} has no known {dtype} peak")
    return peak


def cpu_cores(device: Device) -> float:
    """Return the usable cores, those of a hybrid CPU's second kind too; a quota makes it a fraction."""
    return device.units + (device.efficiency_cores.units if device.efficiency_cores else 0.0)


def bus_bytes_per_s(device: Device, calibration: Calibration) -> float:
    """Return the rate in bytes/s at which the memory serves all cores together.

    Where the memory's own rate is not known, it is never the limit: what the cores draw is.
    """
    return (device.bandwidth_bytes_per_s or float("inf")) * calibration.cpu.bus_share


def _longer(one_s: Floats, other_s: Floats) -> Floats:
    """Return about the longer of two times that run together: ``(a^4 + b^4)^(1/4)``."""
    return np.sqrt(np.sqrt(one_s**4 + other_s**4))


def cpu_regime_key(calibration: Calibration, category: Category, software: Software) -> str:
    """Return the name of the most specific efficiency there is: by kind, phase and layout."""
    for key in _keys(category, software.layout):
        if key in calibration.cpu.regimes:
            return key
    raise InputError(f"the calibration holds no CPU efficiency for kernels of kind {category.kind!r}")


def _keys(category: Category, layout: str) -> Iterator[str]:
    for name in category.names():
        yield f"{name}/{layout}"
        yield name


def cpu_time_factor(factors: SoftwareFactors, category: Category) -> float:
    """Return what a framework does to the time of a class of operators."""
    return factors.cpu_kinds.get(category.stem, factors.cpu_kinds.get("all", 1.0))


def _scales(devices: Sequence[Device], calibration: Calibration) -> tuple[Floats, Floats, Floats]:
    scales = [scales_of(device, calibration)[1:] for device in devices]  # CPUs and GPUs share vendors
    return (
        np.array([prod(s.compute for s in group) for group in scales]),
        np.array([prod(s.memory for s in group) for group in scales]),
        np.array([prod(s.launch for s in group) for group in scales]),
    )


def fault_share(device: Device, calibration: Calibration) -> float:
    """Return what a page costs, as a share of ``fault_s``: cores take some of their faults side by side."""
    guest = calibration.cpu.virtual_faults if device.virtual else 1.0
    return guest / sqrt(cpu_cores(device))


def large_pages(table: KernelTable, calibration: Calibration, factors: SoftwareFactors) -> Floats:
    """Return the 4 KiB pages of each kernel's output that the system maps afresh in each step."""
    if factors.pools_memory:
        return np.zeros(len(table.category))
    writes = np.array([
        c.kind.endswith(FRESH) or not (c.kind.startswith(_KINDS_WITHOUT_OUTPUT) or c.kind.endswith(IN_PLACE))
        for c in table.categories
    ])  # fmt: skip
    large = table.bytes_written / np.maximum(table.launches, 1) >= calibration.cpu.fault_bytes
    return np.where(writes[table.category] & large, table.bytes_written / _PAGE_BYTES, 0.0)


class _RegimePicker:
    """A field of the regimes, by kernel."""

    def __init__(self, regimes: Sequence[CpuRegime], category: NDArray[np.intp]) -> None:
        self._regimes = regimes
        self._category = category

    def __call__(self, name: str) -> Floats:
        values = [self._value(regime, name) for regime in self._regimes]
        return np.array(values, dtype=float)[self._category]

    @staticmethod
    def _value(regime: CpuRegime, name: str) -> float:
        if name == "weights" and regime.weights is None:
            return regime.memory
        return float(getattr(regime, name))
