"""Observations on GPUs as entries of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.calibrate.design import Host, join
from estimator.calibrate.parameters import NONE, Key
from estimator.hardware.efficiency import Regime, Scale
from estimator.predict.factors import (
    kernel_release,
    library_factors,
    software_factors,
    time_factor_key,
    waiting_seconds,
)
from estimator.predict.fleet import Fleet, Picker
from estimator.predict.gpu import inverse_depth, launches, traffic_s, work_flops
from estimator.predict.keys import library_speed, regime_key, winograd_key
from estimator.predict.paths import path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from estimator.calibrate.design import Entries
    from estimator.calibrate.observation import Observation
    from estimator.calibrate.parameters import Parameters
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.table import Category, KernelTable

    Ints = NDArray[np.intp]

_SHARE = {"low": 0.004, "high": 1.15}
_TRAFFIC = {
    "transpose/vector": {"low": 0.1, "high": 4.0},  # not every TF32 convolution is wrapped
    "optimizer": {"low": 0.6, "high": 1.15},  # plain streams: what a run does beside them is not their rate
}
_WINOGRAD = {"low": 0.5, "high": 2.4}
_DEPTH = {"low": 1.0, "high": 600.0}
_SCALE = {"low": 0.4, "high": 1.8}
_FACTOR = {"low": 0.15, "high": 8.0}
_LIBRARY = {"low": 0.05, "high": 2.0}
_HELD = 5.0  # a group of n rows moves n / (n + 5) of the way from the level above
_HELD_GLOBALLY = 2.0
_SCALED = ("compute", "matrix", "double", "memory")  # fields of a Scale that are speeds
_HELD_LAUNCH = 20.0  # what a launch costs is the framework's more than the board's


class GpuEntries:
    """Adds observations to a design, and names the coefficients they hang on.

    ``scaled`` are the devices that have rows enough for scales of their own.
    """

    def __init__(
        self, calibration: Calibration, parameters: Parameters, entries: Entries, scaled: Collection[str]
    ) -> None:
        """Start from the values of ``calibration``."""
        self.start = calibration
        self.neutral = _neutral(calibration)
        self.parameters = parameters
        self.entries = entries
        self.scaled = scaled

    def add(self, number: int, observation: Observation) -> Host:
        """Add one observation; return what its host does."""
        table, device, software = observation.table, observation.device, observation.software
        fleet = Fleet((device,), software, self.neutral)
        pick = Picker([fleet.column(category) for category in table.categories], table.category)
        work = work_flops(table, fleet, pick)[:, 0]
        peak = pick("compute")[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            compute_s = np.where(work > 0, work / peak, 0.0)
        inverse_k = inverse_depth(table, pick)[:, 0]
        paths = [path_of(device, category, software.era) for category in table.categories]
        keys = [
            regime_key(self.start.gpu.regimes, category, path.name, software.layout)
            for category, path in zip(table.categories, paths, strict=True)
        ]
        columns = [self._regime(key) for key in keys]
        scales = self._scales(device)
        factors = software_factors(self.start, software)
        release = self.start.software.index(kernel_release(self.start, software))
        serial = np.array([c.kind.startswith("serial") for c in table.categories])[table.category]
        compute_s = np.where(serial, 0.0, compute_s)
        alone_s = (table.flops + table.elementwise_flops) / self.start.gpu.scalar_flop_per_s
        self.entries.add(number, table.runs, compute_s=np.where(serial, alone_s, 0.0))

        def by_kernel(field: int) -> Ints:
            return np.array([column[field] for column in columns], dtype=np.intp)[table.category]

        both = self._releases(observation)[table.category]
        attained = np.array([scales[path.scaled_by] for path in paths], dtype=np.intp)[table.category]
        memory_s = np.where(serial, 0.0, traffic_s(table, fleet, pick("memory"))[:, 0])
        first = self.entries.add(
            number, table.runs, compute_s=compute_s, memory_s=memory_s, inverse_k=inverse_k,
            order=pick("order")[:, 0], compute=np.column_stack([by_kernel(0), attained]),
            memory=join(by_kernel(1), scales["memory"]), depth=by_kernel(2), both=both,
        )  # fmt: skip
        fast = np.flatnonzero(table.winograd & (pick("winograd_compute")[:, 0] > 0))
        if len(fast):
            ways = [self._winograd(category) for category in table.categories]
            c, m, d = np.array(ways, dtype=np.intp)[table.category[fast]].T
            bandwidth = pick("winograd_memory")[fast, 0]
            self.entries.add(
                number, table.runs[fast], compute_s=compute_s[fast], memory_s=table.bytes[fast] / bandwidth,
                inverse_k=inverse_k[fast], order=np.full(len(fast), 2.0), compute=join(c, scales["compute"]),
                memory=join(m, scales["memory"]), depth=d, both=both[fast], rival=first + fast,
            )  # fmt: skip
        issued = table.total(launches(table, factors))
        self._launches(number, issued, device, release)
        self._steps(number, table, keys)
        host = self.parameters.add(
            Key("software", str(release), "host_s"), self.start.software[release].host_s,
            hold=_HELD, low=1e-6, high=60e-6,
        )  # fmt: skip
        if observation.device_only:
            return Host()
        return Host(table.total(table.launches), host, waiting_seconds(table, factors))

    def _winograd(self, category: Category) -> tuple[int, int, int]:
        return self._regime(winograd_key(category)) if category.kind == "conv" else (NONE, NONE, NONE)

    def _regime(self, key: str) -> tuple[int, int, int]:
        regime = self.start.gpu.regimes[key]
        bounds = _WINOGRAD if key.startswith("winograd") else _SHARE
        add = self.parameters.add
        return (
            add(Key("gpu", key, "compute"), regime.compute, hold=_HELD_GLOBALLY, **bounds),
            add(Key("gpu", key, "memory"), regime.memory, hold=_HELD_GLOBALLY, **_TRAFFIC.get(key, _SHARE)),
            add(Key("gpu", key, "depth"), regime.depth, hold=_HELD_GLOBALLY, **_DEPTH),
        )

    def _groups(self, device: Device) -> list[tuple[str, str, Mapping[str, Scale]]]:
        """Return the groups a device is in: part of the calibration, entry in it, and what starts it."""
        return [
            ("vendors", device.vendor.lower(), self.start.vendors),
            ("architectures", device.architecture.id, self.start.architectures),
        ]

    def _scales(self, device: Device) -> dict[str, list[int]]:
        """Return the indices of what vendor, architecture and device attain, by what they scale."""
        levels = self._groups(device)
        if device.id in self.scaled:
            levels.append(("devices", device.id, self.start.devices))
        return {
            name: [
                self.parameters.add(
                    Key(part, entry, name), getattr(known.get(entry, Scale()), name), hold=_HELD, **_SCALE
                )
                for part, entry, known in levels
            ]
            for name in _SCALED
        }

    def _releases(self, observation: Observation) -> Ints:
        """Return ``(categories, 4)`` indices of what software does to each class of kernels.

        That is the framework's release: to all kernels, and to this class; and the vendor's library, on all
        its devices and on those of an architecture.
        """
        device, software = observation.device, observation.software
        rows = []
        for category in observation.table.categories:
            release = library_factors(self.start, software, device, category.stem)
            number = self.start.software.index(release)
            whole = self.parameters.add(
                Key("software", str(number), "time"), release.time, hold=_HELD, low=0.5, high=2.5
            )
            name = time_factor_key(release, category.kind, software.layout)
            key = Key("kinds", f"{number}/{name}", "time")
            factor = release.kinds[name] if name else None
            one = NONE if factor is None else self.parameters.add(key, factor, hold=_HELD_GLOBALLY, **_FACTOR)
            rows.append((whole, one, *self._library(device, category)))
        return np.array(rows, dtype=np.intp)

    def _library(self, device: Device, category: Category) -> Iterator[int]:
        """Give the indices of what a vendor's library does to a class of kernels, NONE for nothing."""
        for part, name, known in self._groups(device):
            entry, speed = library_speed(known.get(name, Scale()), category)
            key = Key(f"{part}_kinds", f"{name}/{entry}", "speed")
            yield NONE if entry is None else self.parameters.add(key, speed, hold=_HELD, **_LIBRARY)

    def _launches(self, number: int, launches: float, device: Device, release: int) -> None:
        add = self.parameters.add
        factor = self.start.software[release].launch
        indices = [
            add(Key("gpu", "", "launch_s"), self.start.gpu.launch_s, hold=_HELD, low=1e-6, high=5e-6),
            add(Key("software", str(release), "launch"), factor, hold=_HELD, low=0.3, high=8.0),
        ]
        for part, entry, known in self._groups(device):
            value = known.get(entry, Scale()).launch
            indices.append(add(Key(part, entry, "launch"), value, hold=_HELD_LAUNCH, low=0.5, high=3.0))
        self.entries.add(
            number, np.array([launches]), compute_s=np.ones(1), compute=np.array([indices], dtype=np.intp)
        )

    def _steps(self, number: int, table: KernelTable, keys: Sequence[str]) -> None:
        """Add what steps that wait for each other cost, where a class of kernels has such a cost.

        ``keys`` are the names of the classes' efficiencies.
        """
        for i, key in enumerate(keys):
            step_s = self.start.gpu.regimes[key].step_s
            if step_s <= 0:
                continue
            index = self.parameters.add(Key("gpu", key, "step_s"), step_s, hold=_HELD, low=1e-6, high=1e-4)
            steps = float((table.runs * table.serial_steps)[table.category == i].sum())
            self.entries.add(number, np.array([steps]), compute_s=np.ones(1), compute=np.array([[index]]))


def _neutral(calibration: Calibration) -> Calibration:
    """Return a calibration by which everything runs at its ceiling."""
    regimes = {key: Regime(order=regime.order) for key, regime in calibration.gpu.regimes.items()}
    return replace(
        calibration,
        gpu=replace(calibration.gpu, regimes=regimes),
        vendors={}, architectures={}, devices={},
        software=tuple(replace(entry, time=1.0, kinds={}) for entry in calibration.software),
    )  # fmt: skip
