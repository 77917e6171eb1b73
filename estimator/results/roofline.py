"""The result of ``estimator plot roofline``: where each layer stands under a device's ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Assumption
    from estimator.results.prediction import DeviceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A dense peak of the device: of its ``vector`` or ``matrix`` units in one number format."""

    precision: str
    unit: str
    flop_per_s: float
    ridge_point_flop_per_byte: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """One layer in a step on one device, forward and backward together.

    ``flops`` are of products and element-wise arithmetic; ``bytes`` compulsory traffic to memory, so that
    a layer whose tensors stay in a cache can stand above the slope; ``share`` is of the step.
    """

    path: str
    type: str
    products: bool
    flops: int
    bytes: int
    intensity_flop_per_byte: float
    attained_flop_per_s: float
    time_s: float
    share: float
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult(Result):
    """Layers under the roofline; ``left_out`` counts those without arithmetic or traffic."""

    schema: ClassVar[str] = "estimator/roofline/1"
    main_rows: ClassVar[str] = "points"

    inputs: Mapping[str, Any]
    network: str
    device: DeviceSummary
    precision: str
    batch: int
    bandwidth_bytes_per_s: float
    ceilings: tuple[Ceiling, ...]
    points: tuple[RooflinePoint, ...]
    left_out: int
    range_basis: str
    assumptions: tuple[Assumption, ...] = ()
