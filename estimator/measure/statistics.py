"""What repeated times of one thing come to: median, the range of most of them, their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of ``steps`` repetitions: their median, and what a tenth of them is below and above."""

    median: float
    p10: float
    p90: float
    steps: int

    @property
    def spread(self) -> float:
        """Return the width of the middle four fifths over the median."""
        return (self.p90 - self.p10) / self.median if self.median > 0 else 0.0


def times_of(seconds: Sequence[float]) -> Times:
    """Return the statistics of at least one time."""
    low, middle, high = np.quantile(np.asarray(seconds, dtype=np.float64), (0.1, 0.5, 0.9)).tolist()
    return Times(median=middle, p10=low, p90=high, steps=len(seconds))
