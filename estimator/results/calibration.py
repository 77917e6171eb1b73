"""The result of ``estimator calibrate --here``: how much nearer predictions are on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.prediction import DeviceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationResult(Result):
    """The result of ``estimator calibrate --here``: errors before and after, of networks left out."""

    schema: ClassVar[str] = "estimator/calibrate-here/1"

    device: DeviceSummary
    fingerprint: Mapping[str, str]
    measured: int
    networks: tuple[str, ...]
    median_error_before: float
    median_error_after: float
    median_error_left_out: float | None
    took_s: float
    saved_as: str
    warnings: tuple[str, ...] = ()
