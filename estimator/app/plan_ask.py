"""What ``estimator plan`` is asked: networks and their weights, constraints, prices and how much is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from estimator.planning.choice import Constraints
from estimator.planning.money import Use
from estimator.planning.trials import Trials

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from estimator.app.here import Grounds
    from estimator.app.request import Request
    from estimator.app.source import Described
    from estimator.hardware.device import Device

HOURS_A_MONTH, MONTHS = 365.0, 36.0
USUAL_REGION = "USA"
USUAL_COUNTS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One network to train: ``weight`` runs of it make one run of the plan."""

    request: Request
    described: Described
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Everything a plan depends on beside prices; None is "not said".

    ``devices`` are ids that candidates are limited to; ``here`` what is owned, by name, device and number;
    ``measured`` what predictions rest on for those of it that were measured on this machine; ``since`` the
    first year of release taken in; ``price_years`` how old a price may be.
    """

    jobs: tuple[Job, ...]
    today: dt.date
    constraints: Constraints = field(default_factory=Constraints)
    currency: str = "USD"
    region: str | None = None
    price_per_kwh: float | None = None
    cooling: float | None = None
    host_price: float | None = None
    hours_per_month: float | None = None
    months: float | None = None
    trials: Trials = field(default_factory=Trials)
    counts: tuple[int, ...] = USUAL_COUNTS
    link: str | None = None
    devices: frozenset[str] | None = None
    ways: frozenset[str] = frozenset({"buy", "rent", "own"})
    spot: bool = False
    since: int | None = None
    price_years: float = 5.0
    here: Sequence[tuple[str, Device, int]] = ()
    measured: Sequence[Grounds] = ()

    @property
    def use(self) -> Use:
        """How much a bought machine is used."""
        return Use(hours_per_month=self.hours_per_month or HOURS_A_MONTH, months=self.months or MONTHS)

    @property
    def first_year(self) -> int:
        """The first year of release: what is older, current software hardly runs on."""
        return self.since if self.since is not None else self.today.year - 10
