"""The result of ``estimator prices``: rows of price tables with their age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from estimator.results.base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """One dated figure; ``layer`` is where it stands: flag, environment, project, user, bundled or launch."""

    table: str
    key: str
    what: str
    value: float | None
    unit: str
    as_of: str
    age_days: int
    stale: bool
    layer: str
    source: str
    licence: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceListResult(Result):
    """Rows that match; ``history`` tells whether older ones of a key are among them."""

    schema: ClassVar[str] = "estimator/prices/1"
    main_rows: ClassVar[str] = "rows"

    today: str
    history: bool
    rows: tuple[PriceRow, ...]
    unresolved: tuple[str, ...]
    warnings: tuple[str, ...] = ()
