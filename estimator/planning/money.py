"""Rent or buy: what an hour costs either way, and after how many hours buying is the cheaper."""

from __future__ import annotations

from dataclasses import dataclass

HOUR_S = 3600.0
KWH_J = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How long a machine serves: ``hours_per_month`` of training over ``months``."""

    hours_per_month: float
    months: float

    @property
    def hours(self) -> float:
        """All hours a machine trains before it is written off."""
        return self.hours_per_month * self.months


def owned_per_hour(price: float, use: Use, running_per_hour: float) -> float:
    """Return what an hour of a bought machine costs: its share of the price, and electricity."""
    return price / use.hours + running_per_hour


def running_per_hour(average_power_w: float, price_per_kwh: float) -> float:
    """Return what electricity costs an hour."""
    return average_power_w / 1000 * price_per_kwh


def break_even_hours(price: float, rent_per_hour: float, running: float) -> float | None:
    """Return the hours after which buying has cost less than renting; None where it never does."""
    saved = rent_per_hour - running
    return price / saved if saved > 0 else None
