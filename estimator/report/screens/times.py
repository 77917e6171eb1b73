"""Phrases about predicted times that several screens share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.results.prediction import DeviceSummary, TimeSummary

NOTHING = "—"


def between(time: TimeSummary) -> str:
    """Return ``2.7 to 3.9 h`` for a range."""
    low, high = format_seconds(time.low), format_seconds(time.high)
    low_unit, high_unit = low.rpartition(" ")[2], high.rpartition(" ")[2]
    return f"{low.rpartition(' ')[0]} to {high}" if low_unit == high_unit else f"{low} to {high}"


def range_line(time: TimeSummary) -> str:
    """Return ``80 % range 2.7 to 3.9 h (basis: calibrated device)``."""
    return f"{100 * time.coverage:.0f} % range {between(time)} (basis: {time.basis})"


def named(device: DeviceSummary) -> str:
    """Return the device's name with its count in front, and whether it is in this machine."""
    name = f"{device.devices}x {device.name}" if device.devices > 1 else device.name
    return f"{name} (here)" if device.detected else name


def percent(part: float, whole: float) -> str:
    """Return a share as ``12 %``."""
    return f"{100 * part / whole:.0f} %" if whole > 0 else NOTHING
