"""The result of ``estimator memory``: what a step holds, and what would make it fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Assumption
    from estimator.results.prediction import MemorySummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One change of the recipe: ``flags`` make it; ``time_ratio`` is its time a sample over the present one.

    ``saved_bytes`` is less memory at the same batch (negative: more); ``note`` says what it costs beside
    time.
    """

    name: str
    flags: str
    memory: MemorySummary
    saved_bytes: int
    time_ratio: float | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """The memory of a step on one device, and the remedies: those that fit first, then by time a sample.

    ``called`` is what the command line called the device.
    """

    device: str
    called: str
    batch: int
    memory: MemorySummary
    step_s: float
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResult(Result):
    """Memory of one network on each device."""

    schema: ClassVar[str] = "estimator/memory/1"
    main_rows: ClassVar[str] = "devices"

    inputs: Mapping[str, Any]
    parameters: int
    devices: tuple[DeviceMemory, ...]
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()
