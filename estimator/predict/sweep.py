"""Step times of many devices at once: one column a device, no object a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.predict.cpu import cpu_peak, cpu_times
from estimator.predict.factors import host_seconds, software_factors
from estimator.predict.fleet import Fleet, bandwidth_of
from estimator.predict.gpu import gpu_times
from estimator.predict.paths import path_of
from estimator.software import CURRENT_ERA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.gpu import KernelTimes
    from estimator.predict.table import Category, KernelTable
    from estimator.software import Software

    Floats = NDArray[np.float64]

_CHUNK = 128  # devices worked on at once: keeps the arrays of kernels x devices in the caches


@dataclass(frozen=True)
class Sweep:
    """Devices of any kind under one software and calibration.

    A million predictions are 5,000 calls of ``step_s`` with 200 devices each: build tables of a network at
    two batch sizes with ``build_pair`` and the rest with ``KernelTable.between``.
    """

    devices: tuple[Device, ...]
    software: Software
    calibration: Calibration

    @cached_property
    def _groups(self) -> list[tuple[NDArray[np.intp], tuple[Device, ...], Fleet | None]]:
        groups = []
        for kind in DeviceKind:
            index = np.flatnonzero([device.kind is kind for device in self.devices])
            for start in range(0, len(index), _CHUNK):
                part = index[start : start + _CHUNK]
                members = tuple(self.devices[i] for i in part)
                fleet = Fleet(members, self.software, self.calibration) if kind is DeviceKind.GPU else None
                groups.append((part, members, fleet))
        return groups

    def step_s(self, table: KernelTable) -> Floats:
        """Return the expected seconds of one step on each device, ``(D,)``, without communication."""
        result = np.empty(len(self.devices))
        host = self.host_s(table)
        for index, members, fleet in self._groups:
            device_s = table.runs @ self._times(table, members, fleet).total_s
            result[index] = device_s if fleet is None else with_host(device_s, host)
        return result

    def kernel_times(self, table: KernelTable) -> list[KernelTimes]:
        """Return the time of each kernel on each device, ``(K, 1)``."""
        found: dict[int, KernelTimes] = {}
        for index, members, fleet in self._groups:
            times = self._times(table, members, fleet)
            found |= {place: times.of(column) for column, place in enumerate(index.tolist())}
        return [found[place] for place in range(len(self.devices))]

    def _times(self, table: KernelTable, members: tuple[Device, ...], fleet: Fleet | None) -> KernelTimes:
        if fleet is None:
            return cpu_times(table, members, self.software, self.calibration)
        return gpu_times(table, fleet)

    def host_s(self, table: KernelTable) -> float:
        """Return the seconds a GPU's host needs for a step."""
        return host_seconds(table, software_factors(self.calibration, self.software))


def with_host(device_s: Floats | float, host_s: Floats | float) -> Floats | float:
    """Return the time of a stream that device and host work on together: ``(d^4 + h^4)^(1/4)``."""
    return np.sqrt(np.sqrt(np.square(np.square(device_s)) + host_s**4))


def lacking(device: Device, categories: Iterable[Category]) -> str | None:
    """Say what of a device is missing to run classes of kernels and tell how fast; None if nothing."""
    formats = {category.dtype: category for category in categories}
    try:
        if device.kind is DeviceKind.GPU:
            bandwidth_of(device)
        for category in formats.values():
            if device.kind is DeviceKind.GPU:
                path_of(device, category, CURRENT_ERA)
            else:
                cpu_peak(device, category.dtype)
    except InputError as error:
        return str(error)
    return None


def kernel_times(
    table: KernelTable, device: Device, software: Software, calibration: Calibration
) -> KernelTimes:
    """Return the time of each kernel on one device, ``(K, 1)``."""
    if device.kind is DeviceKind.CPU:
        return cpu_times(table, (device,), software, calibration)
    return gpu_times(table, Fleet((device,), software, calibration))
