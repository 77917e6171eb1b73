"""Phrases about predicted times and devices that screens and plots share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.results.prediction import DeviceSummary, TimeSummary

NOTHING = "—"
_MARKS = re.compile(r"\((?:R|TM|r|tm)\)|[®™]")
_VENDOR_WORDS = frozenset({"nvidia", "geforce", "intel", "amd", "tesla"})
# Their devices run the program of a GPU (kernels on units) and are none.
_ACCELERATOR_VENDORS = frozenset({"google", "amazon", "huawei", "graphcore"})
_WHOLE_FROM = 10
_CENTS_BELOW = 100
CURRENCY_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}


def between(time: TimeSummary) -> str:
    """Return ``2.7 to 3.9 h`` for a range."""
    low, high = format_seconds(time.low), format_seconds(time.high)
    low_unit, high_unit = low.rpartition(" ")[2], high.rpartition(" ")[2]
    return f"{low.rpartition(' ')[0]} to {high}" if low_unit == high_unit else f"{low} to {high}"


def range_line(time: TimeSummary) -> str:
    """Return ``80 % range 2.7 to 3.9 h (basis: calibrated device)``."""
    return f"{100 * time.coverage:.0f} % range {between(time)} (basis: {time.basis})"


def short_name(name: str) -> str:
    """Return a device's name without vendor and trade marks: ``GTX 1080 Ti``, ``Xeon Processor``."""
    kept = [word for word in _MARKS.sub("", name).split() if word.lower() not in _VENDOR_WORDS]
    return " ".join(kept) or name


def named(device: DeviceSummary) -> str:
    """Return the device's short name with its count in front, and whether it is in this machine."""
    name = short_name(device.name)
    name = f"{device.devices}x {name}" if device.devices > 1 else name
    return f"{name} (here)" if device.detected else name


def kind_word(vendor: str, id_: str, kind: str) -> str:
    """Return what a device is called: an accelerator that draws nothing is no GPU."""
    if kind != "gpu":
        return kind.upper()
    return "accelerator" if vendor in _ACCELERATOR_VENDORS or id_.startswith("gaudi") else "GPU"


def times(ratio: float) -> str:
    """Return a ratio with two or three digits: ``320x``, ``5.4x``, ``0.31x``."""
    if ratio >= _WHOLE_FROM:
        return f"{ratio:.0f}x"
    return f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"


def money(amount: float | None, currency: str) -> str:
    """Return an amount with its currency, cents below 100: ``$12.50``, ``4,999 CHF``."""
    if amount is None:
        return NOTHING
    text = f"{amount:,.2f}" if amount < _CENTS_BELOW else f"{amount:,.0f}"
    sign = CURRENCY_SIGNS.get(currency)
    return f"{sign}{text}" if sign else f"{text} {currency}"


def percent(part: float, whole: float) -> str:
    """Return a share as ``12 %``."""
    return f"{100 * part / whole:.0f} %" if whole > 0 else NOTHING
