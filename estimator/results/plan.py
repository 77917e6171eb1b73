"""The result of ``estimator plan``: candidates with their time and cost, and what to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Assumption


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCost:
    """Money in one ``currency``; None where a price is missing.

    ``buy``: the devices (and hosts, where a price of them was given); ``rent``: the system for an hour;
    ``per_run`` and ``per_experiment``: what they cost this way. ``as_of`` and ``source`` are of the price.
    """

    buy: float | None
    rent: float | None
    electricity_per_run: float | None
    per_run: float | None
    per_experiment: float | None
    currency: str
    as_of: str | None
    source: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One system and way to get at it; ``way`` is buy, rent or own.

    ``time_s`` is one run (of all networks, weighted), between ``low_s`` and ``high_s``; ``experiment_s`` all
    trials. ``micro_batch`` and ``accumulation`` are those of each network that fit. ``power_w`` at most at
    the wall; ``energy_j`` of a run with host and cooling. ``misses``: constraints not met, with the ratio.
    """

    system: str
    way: str
    device: str
    kind: str
    devices: int
    micro_batch: tuple[int, ...]
    accumulation: tuple[int, ...]
    time_s: float
    low_s: float
    high_s: float
    basis: str
    experiment_s: float
    fits: bool | None
    memory_bytes: int
    power_w: float | None
    energy_j: float | None
    co2e_g: float | None
    cost: CandidateCost
    on_front: bool
    misses: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to take and why; ``robust``: it stays the choice wherever in its range each time lies.

    ``robust_together``: it stays when all times are off alike; ``rivals`` are those that could overtake it.
    """

    system: str
    way: str
    reason: str
    runner_up: str | None
    robust: bool
    robust_together: bool
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Hours of training after which ``devices`` bought have cost less than rented; None: never."""

    device: str
    devices: int
    buy: float
    rent_per_hour: float
    rented_from: str
    electricity_per_hour: float
    hours: float | None
    months: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestMiss:
    """The usable candidate that misses the constraints by least: ``misses`` gives each ratio."""

    system: str
    way: str
    misses: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuAgainstGpu:
    """The cheapest experiment on CPUs and on GPUs; ``cost_ratio`` is CPU over GPU."""

    cpu_system: str
    cpu_cost: float
    cpu_experiment_s: float
    gpu_system: str
    gpu_cost: float
    gpu_experiment_s: float
    cost_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult(Result):
    """All candidates, fastest experiment first, and the choice under the constraints."""

    schema: ClassVar[str] = "estimator/plan/1"
    main_rows: ClassVar[str] = "candidates"

    inputs: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    recommendation: Recommendation | None
    break_even: BreakEven | None
    nearest_miss: NearestMiss | None
    cpu_against_gpu: CpuAgainstGpu | None
    currency: str
    coverage: float
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()
