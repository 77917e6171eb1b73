"""How far predictions are from measurements: the result of ``estimator evaluate``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Errors of ``n`` rows: APE = |predicted / measured - 1|; shares and errors as fractions of one.

    ``within_2x``: 1/2 < predicted / measured < 2; ``coverage_80``: share of rows inside their 80 % range;
    ``median_log_ratio``: bias, median of ln(predicted / measured).
    """

    n: int
    mape: float
    median_ape: float
    p90_ape: float
    within_10: float
    within_25: float
    within_50: float
    within_2x: float
    median_log_ratio: float
    coverage_80: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Rows that are not scored: why, how many, and the place of the first."""

    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Order of devices for one network: ``groups`` of at least four devices.

    ``kendall_tau`` over all pairs, ``kendall_tau_apart`` over pairs measured more than 10 % apart (both mean
    over groups), ``best_right`` the share of groups whose fastest device is predicted fastest.
    """

    groups: int
    kendall_tau: float | None
    kendall_tau_apart: float | None
    best_right: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """One row, predicted beside measured; seconds of the span that the row states.

    ``device`` is the catalogue's, ``label`` the row's own; ``tier`` what the range rests on.
    """

    place: str
    row: str
    source_id: str
    model: str
    network: str
    family: str
    device: str
    label: str
    devices: int
    hosts: int
    batch: float
    precision: str
    framework: str
    mode: str
    trust: str
    tier: str
    steps: float
    measured_s: float
    predicted_s: float
    low_s: float
    high_s: float
    ratio: float
    assumptions: tuple[str, ...] = ()
    baselines_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Rows that were predicted, of all rows that their collectors did not flag."""

    covered: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Result):
    """Scores over all rows and by group.

    ``rows`` lines were read; ``excluded`` of them were left out on request, ``flagged`` because their
    collector warns of them. ``left_out``: what each group's calibration had not seen.
    """

    schema: ClassVar[str] = "estimator/evaluate/1"
    data: tuple[str, ...]
    left_out: str | None
    rows: int
    excluded: int
    flagged: int
    covered: int
    single_device: Covered
    multi_device: Covered
    uncovered: tuple[Gap, ...]
    overall: Scores | None
    baselines: Mapping[str, Scores]
    groups: Mapping[str, Mapping[str, Scores]]
    ranking: Ranking
    details: tuple[Detail, ...] = ()
