"""How the boards of accuracy stand: what was to be reached, what is reached, and on what rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from estimator.results.evaluation import Gap, Ranking, Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPart:
    """One figure of a board: the rows it is over, the target (fractions of one) and other predictors."""

    board: str
    what: str
    unseen: str
    target_median: float | None
    target_mean: float | None
    scores: Scores | None
    others: tuple[tuple[str, Scores], ...] = ()

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without rows or without a target."""
        if self.scores is None or (self.target_median is None and self.target_mean is None):
            return None
        return (self.target_median is None or self.scores.median_ape <= self.target_median) and (
            self.target_mean is None or self.scores.mape <= self.target_mean
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often the 80 % range held the measured time, by what the prediction rested on."""

    tier: str
    rows: int
    covered: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """A group of rows that is far off: median ln(predicted / measured)."""

    source_id: str
    network: str
    device: str
    precision: str
    rows: int
    median_log_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One row of the plot of predicted against measured seconds a step."""

    measured_s: float
    predicted_s: float
    board: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyResult(Result):
    """All boards, ranges, ranks and what is not covered."""

    schema: ClassVar[str] = "estimator/accuracy/1"
    boards: tuple[BoardPart, ...]
    ranking: tuple[tuple[str, Ranking], ...]
    coverage: tuple[Coverage, ...]
    devices: tuple[tuple[str, Scores], ...]
    residuals: tuple[Residual, ...]
    uncovered: tuple[Gap, ...]
    rows: int
    covered: int
    points: tuple[Point, ...]
