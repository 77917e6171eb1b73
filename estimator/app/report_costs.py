"""What the systems of a report cost: a plan that is limited to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.plan import plan
from estimator.app.plan_ask import Ask, Job
from estimator.app.source import described

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.catalog.prices import PriceBook
    from estimator.catalog.text_files import SourceText
    from estimator.hardware.efficiency import Calibration
    from estimator.results.plan import PlanResult

_FIRST_YEAR = 1980  # the user named the devices: none is too old


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a plan needs beside networks and systems; ``region`` None is the usual one, which is said."""

    book: PriceBook
    today: dt.date
    region: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a region that nobody knows: a report without costs would hide it."""
        if self.region is not None:
            self.book.region(self.region)

    def plan(
        self,
        networks: Sequence[tuple[Request, SourceText]],
        systems: Sequence[NamedSystem],
        calibration: Calibration,
    ) -> PlanResult:
        """Return a plan over buying and renting the systems, and using those that are here.

        Raises InputError where none of them can be predicted.
        """
        jobs = tuple(
            Job(request=request, described=described(source, request.overrides))
            for request, source in networks
        )
        found = [named.system for named in systems]
        ask = Ask(
            jobs=jobs,
            today=self.today,
            region=self.region,
            counts=tuple(sorted({system.count for system in found})),
            devices=frozenset(system.device.id for system in found),
            since=_FIRST_YEAR,
            here=[(f"this machine ({s.device.name})", s.device, s.count) for s in found if s.device.detected],
        )
        return plan(ask, self.book, calibration)
