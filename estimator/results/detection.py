"""The result of ``estimator detect``: this host's processors, and what stays unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedDevice:
    """One device with what follows from its architecture: dense peaks, bandwidth and ridge points.

    ``launch_s`` is the time from one eager kernel launch to the next, None where it was not measured.
    """

    id: str
    name: str
    vendor: str
    kind: str
    architecture: str | None
    catalogued: bool
    units: float | None
    unit_name: str | None
    lanes: float | None
    clock_hz: float | None
    memory_bytes: int | None
    peaks_flop_per_s: Mapping[str, Mapping[str, float]]
    bandwidth_bytes_per_s: float | None
    ridge_point_flop_per_byte: Mapping[str, float]
    power_limit_w: float | None
    provenance: Mapping[str, Any]
    launch_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    """``cpu``, ``memory`` and ``gpus`` hold the detector's facts; ``devices`` what can be predicted for.

    ``probe`` holds rates measured here, where that was asked for.
    """

    cpu: Mapping[str, Any]
    memory: Mapping[str, Any]
    gpus: tuple[Mapping[str, Any], ...]
    devices: tuple[DetectedDevice, ...]
    probe: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionResult(Result):
    """What is in this machine."""

    schema: ClassVar[str] = "estimator/detect/1"

    host: HostSummary
    findings: tuple[Finding, ...]
