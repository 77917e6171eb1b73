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
class MemoryRow:
    """Predicted memory of a step on one device beside what is known of the run.

    ``label`` and ``recipe`` tell the run: network and shape, precision, optimizer, checkpointing.
    ``stated_bytes`` is what the source says it took; ``ran`` a batch that fitted, ``refused`` one that did
    not; each None where it is not known.
    """

    group: str
    network: str
    label: str
    recipe: str
    device: str
    devices: int
    batch: int
    predicted_bytes: int
    capacity_bytes: int | None
    largest_batch: int | None
    stated_bytes: float | None
    ran: int | None
    refused: int | None

    @property
    def says_ran(self) -> bool:
        """Whether the batch that ran is said to fit."""
        return self.ran is not None and (self.largest_batch is None or self.largest_batch >= self.ran)

    @property
    def says_refused(self) -> bool:
        """Whether the batch that did not fit is said not to fit."""
        return self.refused is not None and (self.largest_batch or 0) < self.refused

    @property
    def off(self) -> float | None:
        """Predicted / known - 1, of the stated bytes.

        Where only fits are known: how far memory a sample is off for the verdict to be wrong, 0 if right.
        """
        if self.stated_bytes is not None:
            return self.predicted_bytes / self.stated_bytes - 1
        if self.largest_batch is None:
            return None
        if self.ran is not None and not self.says_ran:
            return self.ran / max(self.largest_batch, 0.5) - 1
        if self.refused is not None and not self.says_refused:
            return self.refused / self.largest_batch - 1
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGroup:
    """How rows of one origin compare; errors are fractions of one, None without rows that state memory.

    ``bracketed`` rows know a batch that ran and the next one, which did not fit; ``bracketed_close`` is how
    many of them have their largest batch predicted within 20 % of that range.
    """

    group: str
    what: str
    rows: int
    stated: int
    bias: float | None
    median_error: float | None
    close: float | None
    ran: int
    ran_said: int
    refused: int
    refused_said: int
    bracketed: int
    bracketed_close: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAccuracy:
    """Predicted memory against what sources state; ``far`` are the verdicts that are most wrong."""

    groups: tuple[MemoryGroup, ...]
    stated: tuple[MemoryRow, ...]
    far: tuple[MemoryRow, ...]
    uncovered: tuple[tuple[str, int], ...]


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
    memory: MemoryAccuracy | None = None
