"""How near predictions are on one machine: zoo networks measured, predicted before and after calibrating."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """One network and batch: measured in every round, and ln(predicted / measured) three ways.

    ``specified`` is from what detection reads, ``probed`` with the measured clock, ``calibrated`` after
    calibrating on other networks; ``layers_gap`` and ``memory`` are shares of the step and of the peak.
    """

    network: str
    batch: int
    rounds_s: tuple[float, ...]
    specified: float
    probed: float
    calibrated: float
    layers_gap: float | None
    memory: float | None

    @property
    def measured_s(self) -> float:
        """The median of the rounds."""
        return median(self.rounds_s)

    @property
    def repeat(self) -> float:
        """How far the rounds lie apart: the largest over the smallest, less 1."""
        return max(self.rounds_s) / min(self.rounds_s) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HereAccuracy:
    """All rows, and how they were measured."""

    device: str
    threads: int | None
    cpu_time: bool
    software: str
    load: float
    clock_hz: float
    specified_clock_hz: float
    rows: tuple[AccuracyRow, ...]
    left_out: tuple[str, ...]

    def median_error(self, which: str) -> float:
        """Return the median of |predicted / measured - 1|."""
        return median(abs(math.expm1(getattr(row, which))) for row in self.rows)

    @property
    def repeatability(self) -> float:
        """Return the median of how far the rounds lie apart."""
        return median(row.repeat for row in self.rows)
