"""Units: text to base units and back."""

from __future__ import annotations

import math
import re

from estimator.errors import InputError

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
    "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip
_BYTES = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*([0-9.,]+(?:[eE][+-]?[0-9]+)?)\s*([^\d\s]*)\s*")
_CLOCK = re.compile(r"\s*(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d+)?)\s*")
_PART = re.compile(r"\d[\d.]*\s*[a-zµ]+", re.IGNORECASE)
_PARTS = re.compile(rf"\s*(?:{_PART.pattern}\s*){{2,4}}", re.IGNORECASE)

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0
_DAYS_SHOWN_AS_HOURS = 2
_WEEKS_AFTER_DAYS = 21


def _parse(text: str, table: dict[str, float] | dict[str, int], default: str, what: str) -> float:
    match = _QUANTITY.fullmatch(text)
    unit = (match.group(2) or default).lower() if match else ""
    if match is None or unit not in table:
        raise InputError(f"cannot read {text!r} as {what}", hint=f"units are {', '.join(table)}")
    try:
        value = float(match.group(1).replace(",", "")) * table[unit]
    except ValueError:
        raise InputError(f"cannot read {text!r} as {what}") from None
    if not math.isfinite(value):
        raise InputError(f"{text!r} is not finite, so not {what}")
    return value


def parse_seconds(text: str) -> float:
    """Read ``12 h``, ``1h 30min``, ``1:30:00``, ``1.5 days`` as seconds; a bare number is seconds."""
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        return int(clock[1]) * HOUR_S + int(clock[2]) * MINUTE_S + float(clock[3])
    if _PARTS.fullmatch(text):
        return sum(_parse(part, _SECONDS, "s", "a time") for part in _PART.findall(text))
    return _parse(text, _SECONDS, "s", "a time")


def parse_bytes(text: str, *, bare: str = "b") -> int:
    """Read ``16 GiB``, ``24GB`` as bytes; a bare number has the unit ``bare``."""
    return round(_parse(text, _BYTES, bare, "an amount of memory"))


def format_seconds(seconds: float) -> str:
    """Write a time with three digits in the unit a person would use: ``3.21 ms``, ``16.3 days``."""
    if seconds < 1:
        for name, scale in (("ms", 1e-3), ("µs", 1e-6)):
            if seconds >= scale or name == "µs":
                return f"{_digits(seconds / scale)} {name}"
    if seconds < 2 * MINUTE_S:
        return f"{_digits(seconds)} s"
    if seconds < 2 * HOUR_S:
        return f"{_digits(seconds / MINUTE_S)} min"
    if seconds < _DAYS_SHOWN_AS_HOURS * DAY_S:
        return f"{_digits(seconds / HOUR_S)} h"
    if seconds < _WEEKS_AFTER_DAYS * DAY_S:
        return f"{_digits(seconds / DAY_S)} days"
    return f"{_digits(seconds / (7 * DAY_S))} weeks"


def counted(count: int, noun: str) -> str:
    """Write how many there are: ``1 row``, ``1,024 rows``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: float) -> str:
    """Write an amount of memory in binary units: ``11.2 GiB``."""
    for name, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{_digits(count / scale)} {name}"
    return f"{count:.0f} B"


def format_si(value: float, unit: str = "") -> str:
    """Write a count or rate with an SI prefix: ``11.3 T``, ``484 GB/s`` (unit given), ``64 FLOPs``."""
    for prefix, scale in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{_digits(value / scale)} {prefix}{unit}"
    return f"{value:.0f} {unit}".rstrip() if value == int(value) else f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    """Three significant digits, whole from 100 on."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"
