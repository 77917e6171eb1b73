"""Several devices joined by links: what data-parallel training runs on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Interconnect:
    """A way for ``n`` devices to exchange data.

    A ring all-reduce of S bytes over n devices takes ``alpha_s + alpha_per_device_s n +
    2 (n - 1) / n x S / rate(n)``, where the rate is ``bus_bytes_per_s (1 - ramp / n)``, or as
    ``bus_by_devices`` says: in a mesh it depends on which links a ring of n finds. ``domain``: the most
    devices that it joins, where these are more than a host (a rack, a pod); None means a host's.
    """

    id: str
    name: str
    alpha_s: float
    alpha_per_device_s: float
    bus_bytes_per_s: float
    ramp: float = 0.0
    bus_by_devices: tuple[tuple[int, float], ...] = ()
    domain: int | None = None
    provenance: Provenance | None = None

    def rate(self, devices: int) -> float:
        """Return the bus bandwidth that so many devices reach, in bytes/s."""
        listed = dict(self.bus_by_devices).get(devices)
        return self.bus_bytes_per_s * (1.0 - self.ramp / devices) if listed is None else listed

    def faster(self, factor: float) -> Interconnect:
        """Return ``factor`` such links side by side."""
        return replace(
            self,
            name=self.name if factor == 1 else f"{factor:g} x {self.name}",
            bus_bytes_per_s=self.bus_bytes_per_s * factor,
            bus_by_devices=tuple((devices, rate * factor) for devices, rate in self.bus_by_devices),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """``count`` equal devices on ``nodes`` hosts, joined ``within`` a host and ``between`` hosts."""

    device: Device
    count: int = 1
    nodes: int = 1
    within: Interconnect | None = None
    between: Interconnect | None = None
