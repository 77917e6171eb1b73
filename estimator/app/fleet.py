"""Steps of one replica on many devices and at many batches at once: arrays, no object a prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.hardware.architecture import DeviceKind
from estimator.predict.cpu import cpu_times
from estimator.predict.factors import host_shares, software_factors
from estimator.predict.fleet import Fleet
from estimator.predict.gpu import gpu_times
from estimator.predict.step import is_unusual
from estimator.predict.sweep import Sweep, lacking, with_host
from estimator.predict.table import PHASES
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.gpu import KernelTimes
    from estimator.predict.table import KernelTable
    from estimator.software import Software

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_CELLS = 400_000  # kernels x batches x devices worked on at once: keeps the arrays in the caches
_SCALED = (
    "flops", "elementwise_flops", "bytes_read", "bytes_written", "weight_bytes", "elements", "batch",
    "m", "n", "k", "samples", "lowered",
)  # fmt: skip
_SAME = ("category", "phase", "launches", "serial_steps", "groups", "winograd")


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneSteps:
    """Steps without any exchange, ``(B, D)``, in expected seconds.

    ``forward_s`` is their forward part, ``busy_s`` what kernels compute and move (no launches, no waiting);
    ``unusual`` tells whether the speed is hard to tell.
    """

    step_s: Floats
    forward_s: Floats
    busy_s: Floats
    unusual: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The kernels of one network at every batch between two: ``small`` at ``low``, ``large`` at ``high``."""

    small: KernelTable
    large: KernelTable
    low: int
    high: int

    def shares(self, batches: Sequence[int]) -> Floats:
        """Return how far along the span each batch lies."""
        width = max(self.high - self.low, 1)
        return (np.asarray(batches, dtype=float) - self.low) / width


class Roster:
    """Devices of one kind under one software, with what is worked out for them once."""

    def __init__(self, devices: Sequence[Device], software: Software, calibration: Calibration) -> None:
        self.devices = tuple(devices)
        self._software = software
        self._calibration = calibration
        self._fleets: dict[tuple[int, int], Fleet] = {}

    def steps(self, span: Span, batches: Sequence[int]) -> AloneSteps:
        """Return the steps at each batch on each device. Raises InputError as ``estimate_step`` does."""
        table, shape = span.small, (len(batches), len(self.devices))
        step_s, forward_s, busy_s = np.empty(shape), np.empty(shape), np.empty(shape)
        unusual = np.empty(shape, dtype=bool)
        shares = span.shares(batches)
        forward = np.where(table.phase == PHASES.index(Phase.FORWARD), table.runs, 0.0)
        waits = float(host_shares(table, software_factors(self._calibration, self._software)) @ forward)
        for rows, columns in self._parts(len(table.runs), len(batches)):
            times = self._kernel_times(_stacked(span, shares[rows]), columns)
            cells = (len(shares[rows]), len(table.runs), -1)
            kernels, busy = times.total_s.reshape(cells), times.busy_s.reshape(cells)
            device_s = np.einsum("k,bkd->bd", table.runs, kernels)
            whole_s = self._with_host(device_s, span, shares[rows])
            step_s[rows, columns] = whole_s
            forward_s[rows, columns] = np.einsum("k,bkd->bd", forward, kernels) + (whole_s - device_s) * waits
            busy_s[rows, columns] = np.einsum("k,bkd->bd", table.runs, busy)
            unusual[rows, columns] = _unusual(table, kernels)
        return AloneSteps(step_s=step_s, forward_s=forward_s, busy_s=busy_s, unusual=unusual)

    def _parts(self, kernels: int, batches: int) -> Iterator[tuple[slice, slice]]:
        width = min(len(self.devices), 128) or 1
        height = max(1, _CELLS // (kernels * width))
        for row in range(0, batches, height):
            for column in range(0, len(self.devices), width):
                yield slice(row, row + height), slice(column, column + width)

    def _kernel_times(self, table: KernelTable, columns: slice) -> KernelTimes:
        members = self.devices[columns]
        if members[0].kind is DeviceKind.CPU:
            return cpu_times(table, members, self._software, self._calibration)
        key = (columns.start, columns.stop)
        if key not in self._fleets:
            self._fleets[key] = Fleet(members, self._software, self._calibration)
        return gpu_times(table, self._fleets[key])

    def _with_host(self, device_s: Floats, span: Span, shares: Floats) -> Floats:
        """Let the host issue the kernels and copy the input, which grows with the batch."""
        if self.devices[0].kind is DeviceKind.CPU:
            return device_s
        sweep = Sweep(self.devices, self._software, self._calibration)
        low_s, high_s = sweep.host_s(span.small), sweep.host_s(span.large)
        host_s = low_s + shares[:, None] * (high_s - low_s)
        return np.asarray(with_host(device_s, host_s))


def able(table: KernelTable, devices: Sequence[Device]) -> tuple[tuple[Device, ...], dict[str, str]]:
    """Return the devices that can run every kernel, and by id what the others lack."""
    reasons = {device.id: lacking(device, table.categories) for device in devices}
    fit = tuple(device for device in devices if reasons[device.id] is None)
    return fit, {name: reason for name, reason in reasons.items() if reason is not None}


def _stacked(span: Span, shares: Floats) -> KernelTable:
    """Return the kernels of all batches below one another; only what decides their times is kept right."""
    small, large = span.small, span.large
    columns = {
        name: (getattr(small, name) + shares[:, None] * (getattr(large, name) - getattr(small, name))).ravel()
        for name in _SCALED
    }
    columns |= {name: np.tile(getattr(small, name), len(shares)) for name in _SAME}
    return replace(small, **columns)


def _unusual(table: KernelTable, kernels: Floats) -> Flags:
    """Tell for each batch and device; where both ends of the batches agree, so does what lies between."""
    batches, _, devices = kernels.shape
    result = np.empty((batches, devices), dtype=bool)
    for d in range(devices):
        first, last = (is_unusual(table, kernels[b, :, d]) for b in (0, batches - 1))
        result[:, d] = first
        if first != last:
            result[:, d] = [is_unusual(table, kernels[b, :, d]) for b in range(batches)]
    return result
