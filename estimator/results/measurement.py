"""The result of ``estimator measure``: a real step beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.prediction import DeviceSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTime:
    """Seconds: expected, its range, and what that rests on."""

    expected: float
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTime:
    """Seconds of ``steps`` repetitions: the median, and what a tenth of them is below and above."""

    median: float
    p10: float
    p90: float
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPhases:
    """Seconds of a step by phase; None for a phase that was not measured or does not exist."""

    forward_s: float | None
    backward_s: float | None
    optimizer_s: float | None
    communication_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSeconds:
    """Seconds of one layer in a step."""

    path: str
    forward_s: float
    backward_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedStep:
    """What the predictor says of the step; ``memory_bytes`` its tensors at the peak."""

    step_s: ExpectedTime
    phases: StepPhases
    layers: tuple[LayerSeconds, ...]
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """What was measured; ``method`` is "pytorch", or "numpy": products and traffic only, no step.

    ``sum_of_layers_s``: all layers and the optimizer, of the steps in which layers were watched;
    ``layers_gap`` is its distance from the step, as a share of the step.
    """

    step_s: MeasuredTime
    phases: StepPhases
    layers: tuple[LayerSeconds, ...]
    memory_peak_bytes: int | None
    sum_of_layers_s: float | None
    layers_gap: float | None
    method: str
    warm_up_steps: int
    interrupted: bool
    processes: int
    threads: int | None
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseErrors:
    """Predicted / measured - 1 by phase."""

    forward: float | None
    backward: float | None
    optimizer: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerError:
    """Predicted / measured - 1 of one layer: both passes together, and each."""

    path: str
    both: float | None
    forward: float | None
    backward: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementErrors:
    """How far the prediction is off: predicted / measured - 1, so that too long is positive.

    ``inside`` tells whether the measured median lies in the predicted range.
    """

    step: float
    inside: bool
    phases: PhaseErrors
    layers: tuple[LayerError, ...]
    memory: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementResult(Result):
    """Predicted beside measured; ``predicted`` and ``error`` are None for a device too little known."""

    schema: ClassVar[str] = "estimator/measure/1"

    inputs: Mapping[str, Any]
    device: DeviceSummary
    predicted: PredictedStep | None
    measured: MeasuredStep
    error: MeasurementErrors | None
    warnings: tuple[str, ...] = ()
