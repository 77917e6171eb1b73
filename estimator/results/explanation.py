"""The result of ``estimator explain``: whether a measured time is normal, and what could make it longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.measurement import ExpectedTime
    from estimator.results.prediction import DeviceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that could make a run slower than expected.

    ``factor`` is what it would multiply the expected time by, ``explains`` the share of the logarithm of
    the excess that this is; ``arithmetic`` shows where the factor comes from, ``check`` is a command.
    """

    name: str
    factor: float
    explains: float
    arithmetic: str
    check: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationResult(Result):
    """Whether a measured time is normal: ``ratio`` is measured over expected; causes most likely first."""

    schema: ClassVar[str] = "estimator/explain/1"

    inputs: Mapping[str, Any]
    device: DeviceSummary
    unit: str
    measured_s: float
    expected_s: ExpectedTime
    ratio: float
    inside: bool
    causes: tuple[Cause, ...]
    warnings: tuple[str, ...] = ()
