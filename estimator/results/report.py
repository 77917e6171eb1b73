"""The result of ``estimator report``: everything a page about one or more networks shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.devices import DeviceResult
    from estimator.results.plan import PlanResult
    from estimator.results.prediction import ComparisonResult
    from estimator.results.roofline import RooflineResult
    from estimator.results.sweep import SweepResult
    from estimator.results.work import LayersResult


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkReport:
    """One network: ``work`` as its fastest device (of those it fits on) runs it, ``roofline`` of that device.

    ``roofline`` and ``batches`` are None where they cannot be had; ``gaps`` says why.
    """

    network: str
    fastest: str
    work: LayersResult
    comparison: ComparisonResult
    roofline: RooflineResult | None
    batches: SweepResult | None
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyHistory:
    """How far predictions of one kind were from measurements: what their ranges rest on.

    ``group`` names the kind (device, precision, basis), as specific as there is; ``within`` maps a share of
    cases (``"0.8"``) to the factor they stayed within; ``rows`` counts the measurements, None where not kept.
    """

    devices: tuple[str, ...]
    basis: str
    group: str
    within: Mapping[str, float]
    rows: int | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult(Result):
    """A report made on ``made_on`` (ISO date) by ``command``; ``plan`` has the costs, None without prices."""

    schema: ClassVar[str] = "estimator/report/1"

    inputs: Mapping[str, Any]
    made_on: str
    command: str
    networks: tuple[NetworkReport, ...]
    hardware: tuple[DeviceResult, ...]
    accuracy: tuple[AccuracyHistory, ...]
    plan: PlanResult | None = None
    warnings: tuple[str, ...] = ()
