"""The power a machine draws while it trains, and the energy and greenhouse gas of a run."""

from __future__ import annotations

from dataclasses import dataclass

KWH_J = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """Shares of the devices' power limit while busy and while waiting; host and cooling beside it."""

    busy: float
    waiting: float
    host: float
    cooling: float

    def average_w(self, limit_w: float, busy_share: float) -> float:
        """Return the mean power with host and cooling of devices that are busy ``busy_share`` of the time."""
        device = limit_w * (self.waiting + (self.busy - self.waiting) * min(max(busy_share, 0.0), 1.0))
        return device * (1.0 + self.host) * self.cooling

    def most_w(self, limit_w: float) -> float:
        """Return what the machine draws at the wall at most, without the cooling of its room."""
        return limit_w * (1.0 + self.host)


def co2_g(energy_j: float, g_per_kwh: float) -> float:
    """Return the greenhouse gas of an energy, in grams of CO2 equivalent."""
    return energy_j / KWH_J * g_per_kwh
