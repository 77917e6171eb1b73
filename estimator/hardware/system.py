"""Several devices joined by links: what data-parallel training runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Interconnect:
    """A way for ``n`` devices to exchange data.

    A ring all-reduce of S bytes over n devices takes ``alpha_s + alpha_per_device_s n +
    2 (n - 1) / n x S / (bus_bytes_per_s (1 - ramp / n))``.
    """

    id: str
    name: str
    alpha_s: float
    alpha_per_device_s: float
    bus_bytes_per_s: float
    ramp: float = 0.0
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """``count`` equal devices on ``nodes`` hosts, joined ``within`` a host and ``between`` hosts."""

    device: Device
    count: int = 1
    nodes: int = 1
    within: Interconnect | None = None
    between: Interconnect | None = None
