"""From values to places on an axis: limits, ticks and how ticks are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from estimator.report.plots.figure import Quantity
from estimator.units import DAY_S, HOUR_S, MINUTE_S, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.plots.figure import Axis, Figure

_FEWEST_DECADES = 2  # fewer on a logarithmic axis get ticks at 2 and 5, too
_MOST_DECADES = 8
_MOST_POWERS = 12
_WANTED_TICKS = 6
_WEEK_S = 7 * DAY_S
# Round times beyond a second, where decades are not what people count in.
_TIMES_S = (1, 2, 5, 10, 20, 60, 120, 300, 600, 1200, HOUR_S, 2 * HOUR_S, 5 * HOUR_S, 10 * HOUR_S, DAY_S,
            2 * DAY_S, _WEEK_S, 2 * _WEEK_S, 5 * _WEEK_S, 10 * _WEEK_S, 50 * _WEEK_S)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Limits of an axis in its own units, and its ticks with their texts."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """Return where a value stands between the limits: 0 at the low one, 1 at the high one."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)


def scale_of(figure: Figure, axis: Literal["x", "y"]) -> Scale:
    """Return limits that hold all values of a figure along an axis, and at most about eight ticks."""
    described = figure.x if axis == "x" else figure.y
    values = [value for value in figure.values(axis) if not described.log or value > 0]
    if described.quantity is Quantity.NAME:
        ticks = tuple((float(i), name) for i, name in enumerate(described.names))
        return Scale(low=-0.5, high=len(described.names) - 0.5, log=False, ticks=ticks)
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if described.log:
        return _logarithmic(described, low, high)
    return _linear(described, min(0.0, low), high)


def _logarithmic(axis: Axis, low: float, high: float) -> Scale:
    spread = max(high / low, 2.0)
    low, high = low / spread**0.06, high * spread**0.06
    low, high = (low / 1.2, high * 1.2) if spread <= 2.0 else (low, high)  # noqa: PLR2004 - nearly equal values
    ticks = [tick for tick in _log_candidates(axis, low, high) if low <= tick <= high]
    return Scale(low=low, high=high, log=True, ticks=tuple((tick, written(axis, tick)) for tick in ticks))


def _log_candidates(axis: Axis, low: float, high: float) -> Sequence[float]:
    if axis.binary:
        first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
        return [2.0**power for power in range(first, last + 1, 1 + (last - first) // _MOST_POWERS)]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    steps = (
        (1,) if decades > _FEWEST_DECADES else (1, 2, 5) if decades > _FEWEST_DECADES / 3 else range(1, 10)
    )
    stride = 1 + math.floor(decades / _MOST_DECADES)
    if axis.quantity is not Quantity.SECONDS or high < MINUTE_S:
        return [step * 10.0**power for power in range(first, last + 1, stride) for step in steps]
    below = [step * 10.0**power for power in range(first, 0, stride) for step in steps]
    chosen = [float(s) for s in _TIMES_S if low <= s <= high]
    every = max(1, math.ceil(len(chosen) / _WANTED_TICKS))
    return [*below, *(chosen[::every])]


def _linear(axis: Axis, low: float, high: float) -> Scale:
    span = (high - low) or 1.0
    unit = _time_unit(high) if axis.quantity is Quantity.SECONDS else 1.0
    step = _round_step(span / unit / _WANTED_TICKS) * unit
    if axis.quantity is Quantity.COUNT and high > 1:
        step = max(step, 1.0)
    top = math.ceil(high * 1.02 / step) * step
    count = round((top - low) / step)
    ticks = [low + i * step for i in range(count + 1)]
    return Scale(low=low, high=top, log=False, ticks=tuple((tick, written(axis, tick)) for tick in ticks))


def _time_unit(seconds: float) -> float:
    """Return the unit that ``format_seconds`` would write a time in, in seconds."""
    return next((unit for unit in (_WEEK_S, DAY_S, HOUR_S, MINUTE_S) if seconds >= 3 * unit), 1.0)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def written(axis: Axis, value: float) -> str:
    """Return a tick's text, without zeros that say nothing: ``10 ms``, ``5 T``, ``$20``."""
    if value == 0:
        return "0"
    match axis.quantity:
        case Quantity.SECONDS:
            return _short(format_seconds(value))
        case Quantity.MONEY:
            return f"{axis.currency}{_short(format_si(value)) if value >= 1 else f'{value:.3g}'}"
        case _:
            return _short(format_si(value)) if value >= 1 else f"{value:.3g}"


def _short(text: str) -> str:
    number, _, unit = text.partition(" ")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number} {unit}".rstrip()
