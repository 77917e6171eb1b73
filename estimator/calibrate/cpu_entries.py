"""Observations on CPUs as entries of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.calibrate.design import Host, join
from estimator.calibrate.parameters import NONE, Key
from estimator.hardware.efficiency import Scale
from estimator.predict.cpu import (
    barriers,
    bus_bytes_per_s,
    calls_blas,
    cpu_cores,
    cpu_peak,
    cpu_regime_key,
    fault_share,
    large_pages,
    working_cores,
)
from estimator.predict.factors import call_seconds, kernel_release

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from estimator.calibrate.design import Entries
    from estimator.calibrate.observation import Observation
    from estimator.calibrate.parameters import Parameters
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration, CpuRegime, SoftwareFactors
    from estimator.predict.table import KernelTable

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

_SHARE = {"low": 0.01, "high": 1.0}
_CYCLES = {"low": 0.5, "high": 60.0}
_SECONDS = {"low": 1e-7, "high": 500e-6}
_OPERATOR = {"low": 0.2e-6, "high": 100e-6}
_SCALE = {"low": 0.3, "high": 2.5}
_FACTOR = {"low": 0.1, "high": 20.0}
_HELD = 5.0
_HELD_GLOBALLY = 3.0


class CpuEntries:
    """Adds observations to a design, and names the coefficients they hang on."""

    def __init__(
        self, calibration: Calibration, parameters: Parameters, entries: Entries, scaled: Collection[str]
    ) -> None:
        """Start from the values of ``calibration``; ``scaled`` devices get scales of their own."""
        self.start = calibration
        self.parameters = parameters
        self.entries = entries
        self.scaled = scaled

    def add(self, number: int, observation: Observation) -> Host:
        """Add one observation; a CPU has no host."""
        table, device = observation.table, observation.device
        keys = [cpu_regime_key(self.start, c, observation.software) for c in table.categories]
        regimes = [self.start.cpu.regimes[key] for key in keys]
        factors = kernel_release(self.start, observation.software)
        compute, memory, launch = self._scales(device)
        both = self._both(factors, observation)[table.category]
        peak = np.array([cpu_peak(device, c.dtype, factors, blas=calls_blas(c)) for c in table.categories])[
            table.category
        ]
        cores = cpu_cores(device)
        working = working_cores(table, self.start, np.array([cores]))[:, 0]
        lanes = np.where(_by_kernel(regimes, "serial", table.category) > 0, 1.0, working)
        draw = device.clock_hz * working * self.start.cpu.core_bytes_per_clock
        bus = bus_bytes_per_s(device, self.start)

        def index(name: str, bounds: dict[str, float]) -> Ints:
            return np.array([
                self._regime(key, regime, name, bounds) for key, regime in zip(keys, regimes, strict=True)
            ])[table.category]  # fmt: skip

        add = self.entries.add
        product_s = np.where(_is_serial(table), 0.0, table.flops * cores / (peak * working))
        add(number, table.runs, compute_s=product_s, both=both,
            compute=join(index("compute", _SHARE), compute))  # fmt: skip
        cycles = _by_kernel(regimes, "cycles", table.category) > 0
        moved, fourth = table.bytes - table.weight_bytes, np.full(len(table.runs), 4.0)
        for some, seconds, by in (
            (cycles, table.elements / (device.clock_hz * lanes), join(index("cycles", _CYCLES), compute)),
            (~cycles, moved / draw, join(index("memory", _SHARE), memory)),
        ):
            add(number, np.where(some, table.runs, 0.0), both=both, order=fourth,
                compute_s=moved / bus, memory_s=seconds, memory=by)  # fmt: skip
        add(number, table.runs, both=both, order=fourth, compute_s=table.weight_bytes / bus,
            memory_s=table.weight_bytes / draw, memory=join(index("weights", _SHARE), memory))  # fmt: skip
        for name, counts in (("overhead_s", table.launches), ("step_s", table.serial_steps)):
            costs = _by_kernel(regimes, name, table.category) > 0
            add(number, table.runs, compute_s=np.where(costs, counts, 0.0),
                compute=join(index(name, _SECONDS), launch))  # fmt: skip
        self._system(number, observation, factors, launch)
        self._operators(number, table, working, factors, launch)
        return Host()

    def _operators(
        self,
        number: int,
        table: KernelTable,
        working: Floats,
        factors: SoftwareFactors,
        launch: list[int],
    ) -> None:
        """Add what operators cost beside their work: cores that meet, and the framework's own time."""
        release = str(self.start.software.index(factors))
        for key, value, counts in (
            (Key("cpu", "", "barrier_s"), self.start.cpu.barrier_s, barriers(table, working[:, None])[:, 0]),
            (Key("software", release, "operator_s"), factors.operator_s, table.launches),
        ):
            index = self.parameters.add(key, value, hold=_HELD, **_OPERATOR)
            if index != NONE:
                same = join(np.full(len(counts), index, dtype=np.intp), launch)
                self.entries.add(number, table.runs, compute_s=counts, compute=same)

    def _system(
        self, number: int, observation: Observation, factors: SoftwareFactors, launch: list[int]
    ) -> None:
        """Add page faults, the call of the optimizer, and work that one core does alone."""
        table = observation.table
        index = self.parameters.add(
            Key("cpu", "", "fault_s"), self.start.cpu.fault_s, hold=_HELD, low=0.2e-6, high=2e-6
        )
        pages = large_pages(table, self.start, factors) * fault_share(observation.device, self.start)
        same = np.full((len(pages), 1), index, dtype=np.intp)
        self.entries.add(number, table.runs, compute_s=pages, compute=same)
        call_s = call_seconds(table, factors, "optimizer")
        calls = np.array([launch], dtype=np.intp)
        self.entries.add(number, np.ones(1), compute_s=np.full(1, call_s), compute=calls)
        work = np.where(_is_serial(table), table.flops + table.elementwise_flops, 0.0)
        rate = observation.device.clock_hz * self.start.cpu.scalar_flop_per_cycle
        self.entries.add(number, table.runs, compute_s=work / rate)

    def _regime(self, key: str, regime: CpuRegime, name: str, bounds: dict[str, float]) -> int:
        if name == "weights" and regime.weights is None:
            name, bounds = "memory", _SHARE
        value = float(getattr(regime, name))
        return self.parameters.add(Key("cpu", key, name), value, hold=_HELD_GLOBALLY, **bounds)

    def _scales(self, device: Device) -> tuple[list[int], list[int], list[int]]:
        """Return the indices of the scales on a CPU's products, traffic and operators."""
        levels = [("architectures", device.architecture.id, self.start.architectures)]
        if device.id in self.scaled:
            levels.append(("devices", device.id, self.start.devices))
        found: tuple[list[int], list[int], list[int]] = ([], [], [])
        for part, entry, known in levels:
            scale = known.get(entry, Scale())
            for name, into in zip(("compute", "memory", "launch"), found, strict=True):
                value = float(getattr(scale, name))
                into.append(self.parameters.add(Key(part, entry, name), value, hold=_HELD, **_SCALE))
        return found

    def _both(self, factors: SoftwareFactors, observation: Observation) -> Ints:
        release = self.start.software.index(factors)
        rows = []
        for category in observation.table.categories:
            stem = category.stem
            name = stem if stem in factors.cpu_kinds else "all"
            value = factors.cpu_kinds.get(name)
            key = Key("cpu_kinds", f"{release}/{name}", "time")
            rows.append(NONE if value is None else self.parameters.add(key, value, hold=_HELD, **_FACTOR))
        return np.array(rows, dtype=np.intp)[:, None]


def _is_serial(table: KernelTable) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = np.array([c.kind.startswith("serial") for c in table.categories])
    return flags[table.category]


def _by_kernel(regimes: list[CpuRegime], name: str, category: Ints) -> Floats:
    return np.array([float(getattr(regime, name)) for regime in regimes])[category]
