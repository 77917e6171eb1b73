"""What the predictor answers: a step's time with its range, and where the time goes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.predict.interval import TimeRange
    from estimator.provenance import Assumption


class Bound(StrEnum):
    """What a part of the time is spent waiting for."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LAUNCH = "launch"
    HOST = "host"
    COMMUNICATION = "communication"
    SERIAL = "serial"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """Seconds of a step by phase; they add up to the step."""

    forward_s: float
    backward_s: float
    optimizer_s: float
    communication_s: float = 0.0
    data_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTimes:
    """Seconds of a step by what bounds them; they add up to the step.

    Waiting for input counts as ``host_s``: it is the host that reads and decodes.
    """

    compute_s: float
    memory_s: float
    launch_s: float
    host_s: float
    communication_s: float
    serial_s: float

    @property
    def largest(self) -> Bound:
        """What most of the time is spent on."""
        return max(Bound, key=lambda bound: getattr(self, f"{bound.value}_s"))


class LayerTime(NamedTuple):
    """Seconds one layer takes in a step, and what bounds most of them."""

    path: str
    forward_s: float
    backward_s: float
    bound: Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTimes:
    """The layers of a step as columns of equal length; a LayerTime is made of each as it is read."""

    paths: tuple[str, ...]
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    bounds: tuple[Bound, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[LayerTime]:
        return map(LayerTime, self.paths, self.forward_s, self.backward_s, self.bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEstimate:
    """One training step of ``samples`` over all devices; ``mfu`` is None where the peak is not known."""

    time: TimeRange
    samples: int
    mfu: float | None
    phases: PhaseTimes
    bounds: BoundTimes
    layers: LayerTimes
    assumptions: tuple[Assumption, ...] = ()

    @property
    def samples_per_s(self) -> float:
        """Throughput over all devices."""
        return self.samples / self.time.expected
