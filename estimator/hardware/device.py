"""One device, specified or measured: what it can do, and where each figure comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.hardware.architecture import Architecture, DeviceKind
    from estimator.precision import DType
    from estimator.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Dense peak rates in FLOP/s by number format, of the vector and of the matrix units."""

    vector: Mapping[DType, float] = field(default_factory=dict)
    matrix: Mapping[DType, float] = field(default_factory=dict)

    def best(self, dtype: DType) -> float | None:
        """Return the higher of the two, or None where the device cannot compute in that format."""
        known = [peak for peak in (self.vector.get(dtype), self.matrix.get(dtype)) if peak]
        return max(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A link out of a device: PCIe or NVLink, GB/s of all its links in one direction, in bytes/s."""

    name: str
    bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreGroup:
    """The efficiency cores of a hybrid CPU: ``units`` cores of another architecture at another clock."""

    architecture: Architecture
    units: float
    clock_hz: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A CPU (all its usable cores) or an accelerator (one chip of a board that holds several).

    ``units`` are SMs, CUs, Xe-cores or physical cores (of a hybrid CPU its P cores, the others stand in
    ``efficiency_cores``); ``clock_hz`` the boost clock, for a CPU the clock with all cores busy;
    ``matrix_clock_hz`` the clock at which the vendor quotes matrix peaks, where it is not the usual one of
    the architecture. ``virtual`` marks a CPU that a virtual machine has cores of. None is "not known"
    everywhere, never 0.
    """

    id: str
    name: str
    vendor: str
    kind: DeviceKind
    architecture: Architecture
    units: float
    clock_hz: float
    peaks: Peaks
    base_clock_hz: float | None = None
    max_clock_hz: float | None = None
    matrix_clock_hz: float | None = None
    efficiency_cores: CoreGroup | None = None
    threads: int | None = None
    sockets: int = 1
    bandwidth_bytes_per_s: float | None = None
    memory_bytes: int | None = None
    memory_type: str | None = None
    unified_memory: bool = False
    virtual: bool = False
    cache_bytes: Mapping[str, int] = field(default_factory=dict)
    power_limit_w: float | None = None
    pcie: Interface | None = None
    peer_link: Interface | None = None
    chips_per_board: int = 1
    form_factor: str | None = None
    released: str | None = None
    launch_price_usd: float | None = None
    aliases: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    datasheet_peaks: Mapping[str, float] = field(default_factory=dict)
    detected: bool = False
    note: str = ""
    provenance: Mapping[str, Provenance] = field(default_factory=dict)

    @property
    def all_units(self) -> float:
        """Units of both kinds: of a hybrid CPU its P and its E cores."""
        return self.units + (self.efficiency_cores.units if self.efficiency_cores else 0.0)

    @property
    def lanes(self) -> float:
        """Multiply-adds in fp32 that can start in one clock: units x lanes a unit, of both kinds of core."""
        slow = self.efficiency_cores
        others = slow.units * slow.architecture.lanes_per_unit if slow else 0.0
        return self.units * self.architecture.lanes_per_unit + others

    def ridge_point(self, dtype: DType) -> float | None:
        """FLOPs a byte at which a kernel turns from memory- to compute-bound."""
        peak = self.peaks.best(dtype)
        if peak is None or self.bandwidth_bytes_per_s is None:
            return None
        return peak / self.bandwidth_bytes_per_s


def derive_peaks(
    architecture: Architecture,
    units: float,
    clock_hz: float,
    *,
    matrix_clock_hz: float | None = None,
    efficiency_cores: CoreGroup | None = None,
) -> Peaks:
    """Return ``units x FMA a clock x 2 x clock`` for every format the architecture has.

    A matrix rate is quoted at ``matrix_clock_hz``, or ``matrix_clock_scale`` of the clock. Architectures
    without FMA start an add and a multiply a clock instead: the same 2 FLOPs a lane, if the two balance.
    Efficiency cores add theirs; a format that only the P cores have is theirs alone.
    """
    if matrix_clock_hz is None:
        matrix_clock_hz = clock_hz * architecture.matrix_clock_scale
    vector = {dtype: units * rate * 2 * clock_hz for dtype, rate in architecture.vector.items()}
    if efficiency_cores is not None:
        others = derive_peaks(
            efficiency_cores.architecture, efficiency_cores.units, efficiency_cores.clock_hz
        ).vector
        vector = {dtype: peak + others.get(dtype, 0.0) for dtype, peak in vector.items()}
    return Peaks(
        vector=vector,
        matrix={dtype: units * rate * 2 * matrix_clock_hz for dtype, rate in architecture.matrix.items()},
    )
