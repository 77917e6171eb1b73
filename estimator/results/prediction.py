"""The result of ``estimator predict`` and ``compare``: times by device, with ranges and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Assumption


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSummary:
    """The device a prediction is for; ``lanes`` are fp32 multiply-adds a clock (CUDA cores)."""

    name: str
    id: str
    kind: str
    devices: int
    detected: bool
    lanes: float
    peak_flop_per_s: float | None
    bandwidth_bytes_per_s: float | None
    power_limit_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSummary:
    """Seconds: expected, and the range that holds the true value in ``coverage`` of cases."""

    expected: float
    low: float
    high: float
    coverage: float
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSummary:
    """Seconds of a step by phase."""

    forward_s: float
    backward_s: float
    optimizer_s: float
    communication_s: float
    data_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundSummary:
    """Seconds of a step by what limits them."""

    compute_s: float
    memory_s: float
    launch_s: float
    host_s: float
    communication_s: float
    serial_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """One training step; ``mfu`` is the share of the dense peak that the products' FLOPs make up."""

    time_s: TimeSummary
    samples_per_s: float
    mfu: float | None
    phases: PhaseSummary
    bounds: BoundSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """Bytes at the peak of a step on one device; ``fits`` is None where the capacity is not known."""

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    other_bytes: int
    total_bytes: int
    capacity_bytes: int | None
    fits: bool | None
    largest_batch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSummary:
    """Seconds of one layer in a step and what bounds it."""

    path: str
    forward_s: float
    backward_s: float
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one device takes; epoch and total are None where no length of the run was given."""

    device: DeviceSummary
    step: StepSummary
    steps: int | None
    epoch_s: float | None
    epoch_range_s: TimeSummary | None
    total_s: float | None
    total_range_s: TimeSummary | None
    memory: MemorySummary
    layers: tuple[LayerSummary, ...]
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionResult(Result):
    """Predictions for one network, in the order asked for; ``explanation`` says why that order of speed."""

    schema: ClassVar[str] = "estimator/predict/1"
    main_rows: ClassVar[str] = "predictions"

    inputs: Mapping[str, Any]
    predictions: tuple[Prediction, ...]
    explanation: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult(PredictionResult):
    """The same for ``compare``; ``gains`` ranks layers by how much the fastest device speeds them up.

    ``costs`` has a row a prediction.
    """

    schema: ClassVar[str] = "estimator/compare/1"

    gains: tuple[LayerGain, ...] = ()
    baseline: str | None = None
    costs: tuple[DeviceCost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGain:
    """How much faster a layer runs on ``device`` than on ``baseline`` (names of devices)."""

    path: str
    baseline: str
    device: str
    baseline_s: float
    device_s: float
    speed_up: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCost:
    """What a run (or an epoch, where the run has no end) takes at the wall, and what the devices cost.

    None is "not known"; ``as_of`` is the date of the price.
    """

    id: str
    devices: int
    energy_j: float | None
    electricity: float | None
    electricity_currency: str | None
    price: float | None
    currency: str | None
    as_of: str | None
    source: str | None
