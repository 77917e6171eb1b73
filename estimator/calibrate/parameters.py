"""The unknowns of a fit: names, where each starts, how strongly it is held there, and its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

NONE = -1


class Key(NamedTuple):
    """Which coefficient: its part of the calibration, the entry in it, and the field of the entry."""

    part: str
    entry: str
    name: str


@dataclass(slots=True)
class Parameters:
    """Logarithms of speeds: a share of a ceiling counts up, a cost in seconds or a time factor down.

    ``hold`` is how many observations the starting value is worth: n observations move a coefficient
    n / (n + hold) of the way to what they say.
    """

    keys: list[Key] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    hold: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    _index: dict[Key, int] = field(default_factory=dict)

    def add(self, key: Key, start: float, *, hold: float, low: float, high: float) -> int:
        """Return the index of a coefficient, new or known; ``start``, ``low``, ``high`` are its values."""
        if key in self._index:
            return self._index[key]
        if start <= 0:
            return NONE
        ends = sorted((self.to_log(key, low), self.to_log(key, high)))
        self._index[key] = len(self.keys)
        self.keys.append(key)
        self.start.append(self.to_log(key, start))
        self.hold.append(hold)
        self.low.append(min(ends[0], self.start[-1]))
        self.high.append(max(ends[1], self.start[-1]))
        return self._index[key]

    @staticmethod
    def to_log(key: Key, value: float) -> float:
        """Return the logarithm of the speed a value stands for."""
        return -math.log(value) if key.name in COSTS else math.log(value)

    @staticmethod
    def value(key: Key, log_speed: float) -> float:
        """Return the coefficient that a logarithm of speed stands for."""
        return math.exp(-log_speed if key.name in COSTS else log_speed)


COSTS = frozenset(
    {"launch_s", "host_s", "overhead_s", "operator_s", "barrier_s", "cycles", "step_s", "fault_s", "depth",
     "time", "launch"}
)  # fmt: skip
