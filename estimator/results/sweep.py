"""The results of ``estimator sweep`` and ``scale``: one row a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Assumption


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """One setting: ``settings`` are the swept ones by axis.

    ``batch`` is of one device and pass; ``knee``: the smallest batch of its series within 10 % of the best
    throughput that fits; ``wall``: the largest batch of its series that fits, where a larger one does not.
    ``tokens_per_s`` is None where the network reads no tokens.
    """

    settings: Mapping[str, Any]
    device: str
    devices: int
    batch: int
    step_s: float
    low_s: float
    high_s: float
    samples_per_s: float
    memory_bytes: int
    fits: bool | None
    tokens_per_s: float | None = None
    knee: bool = False
    wall: bool = False

    @property
    def rate(self) -> float:
        """What gets done in a second: tokens, whose number a sample may differ by setting, or samples."""
        return self.samples_per_s if self.tokens_per_s is None else self.tokens_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult(Result):
    """All points in the order of the axes; ``best`` is the index of the fastest that fits."""

    schema: ClassVar[str] = "estimator/sweep/1"
    main_rows: ClassVar[str] = "points"

    inputs: Mapping[str, Any]
    axes: Mapping[str, Any]
    points: tuple[SweepPoint, ...]
    best: int | None
    coverage: float
    basis: tuple[str, ...]
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePoint:
    """One number of devices: ``efficiency`` is the speed-up over the fewest, per device added.

    ``weak`` keeps the batch of a device, ``strong`` the global batch; ``exchange_s`` is what the collectives
    take by themselves, ``exposed_s`` what of it (and of waiting for the slowest) the step shows. ``link``
    joins the devices of a node, ``between`` the nodes.
    """

    kind: str
    link: str | None
    between: str | None
    devices: int
    nodes: int
    batch: int
    global_batch: int
    step_s: float
    low_s: float
    high_s: float
    samples_per_s: float
    speed_up: float
    efficiency: float
    exchange_s: float
    exposed_s: float
    fits: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleResult(Result):
    """The scaling of one network on more and more of one device."""

    schema: ClassVar[str] = "estimator/scale/1"
    main_rows: ClassVar[str] = "points"

    inputs: Mapping[str, Any]
    device: str
    gradient_bytes: int
    points: tuple[ScalePoint, ...]
    coverage: float
    basis: str
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()
