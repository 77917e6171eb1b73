"""The use case of ``estimator explain``: whether a measured time is normal, and what could make it longer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.explanation_causes import CAUSES, Situation
from estimator.app.measurement import device_summary
from estimator.app.prediction import lowered
from estimator.errors import InputError
from estimator.predict.run import Schedule, estimate_run
from estimator.results.explanation import Cause, ExplanationResult
from estimator.results.measurement import ExpectedTime
from estimator.units import parse_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.app.explanation_causes import Suspicion
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.predict.interval import TimeRange

_TIME = re.compile(r"\s*(?P<time>[^/]+?)\s*(?:/|per|an?)\s*(?P<unit>step|iteration|it|batch|epoch|run)s?\s*")
_RATE = re.compile(
    r"\s*(?P<number>[0-9.,eE+-]+)\s*(?P<what>samples|images|img|imgs|steps|it|its|batches|tokens|tok|epochs?)\s*/\s*(?P<per>\w+)\s*"
)
_RATE_UNITS = {  # what is not named here is a sample
    **dict.fromkeys(("steps", "it", "its", "batches"), "step"),
    **dict.fromkeys(("tokens", "tok"), "token"),
    **dict.fromkeys(("epoch", "epochs"), "epoch"),
}
_ALIASES = {"iteration": "step", "it": "step", "batch": "step"}
_LEAST_FACTOR = 1.05
_MOST_CAUSES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A time as a user states it: seconds of a step, an epoch or a run; or of one sample."""

    seconds: float
    unit: str


def parse_measured(text: str) -> Measured:
    """Read ``12 h/epoch``, ``350ms per step``, ``2 days/run``, ``410 images/s``, ``9e3 tokens/s``."""
    rate = _RATE.fullmatch(text.lower())
    if rate is not None:
        per_s = parse_seconds(f"1{rate['per']}")
        number = _number(rate["number"], text)
        return Measured(seconds=per_s / number, unit=_RATE_UNITS.get(rate["what"], "sample"))
    time = _TIME.fullmatch(text.lower())
    if time is None:
        raise InputError(
            f"--measured: cannot read {text!r}",
            hint="12h/epoch, 350ms/step, 2d/run, 410 images/s, 9000 tokens/s or 3 it/s",
        )
    seconds = parse_seconds(time["time"])
    if seconds <= 0:
        raise InputError(f"--measured: {text!r} is no time")
    return Measured(seconds=seconds, unit=_ALIASES.get(time["unit"], time["unit"]))


def _number(text: str, whole: str) -> float:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        raise InputError(f"--measured: cannot read {whole!r}", hint="410 images/s, 3.1 it/s") from None
    if not 0 < number < math.inf:
        raise InputError(f"--measured: {whole!r} is no rate")
    return number


def explain(
    measured: Measured,
    network: Network,
    training: Training,
    system: System,
    calibration: Calibration,
    *,
    coverage: float,
    measured_here: bool,
    inputs: Mapping[str, object],
) -> ExplanationResult:
    """Return the expected range, how far off the measured time is, and what could explain it."""
    run = lowered(network, training, system.device.kind)
    situation = Situation(
        network=network, training=run.training, system=system, calibration=calibration,
        workload=run.workload, coverage=coverage, measured_here=measured_here,
    )  # fmt: skip
    expected = _expected(situation, measured.unit)
    ratio = measured.seconds / expected.expected
    inside = expected.low <= measured.seconds <= expected.high
    suspicions = [found for cause in CAUSES if (found := cause(situation, ratio)) is not None]
    return ExplanationResult(
        inputs=dict(inputs),
        device=device_summary(system.device, system.count),
        unit=measured.unit,
        measured_s=measured.seconds,
        expected_s=ExpectedTime(
            expected=expected.expected, low=expected.low, high=expected.high, basis=expected.basis
        ),
        ratio=ratio,
        inside=inside,
        causes=() if inside else _ranked(suspicions, ratio),
    )


def _expected(situation: Situation, unit: str) -> TimeRange:
    step = situation.step
    if unit == "step":
        return step.time
    if unit == "sample":
        return step.time.scaled(1 / step.samples)
    if unit == "token":
        tokens = situation.network.tokens_per_sample
        if tokens is None:
            name = situation.network.name
            raise InputError(f"{name} reads no tokens", hint="give samples/s, or the time of a step")
        return step.time.scaled(1 / (step.samples * tokens))
    training = situation.training
    if training.samples is None and (unit == "epoch" or training.steps is None):
        raise InputError(
            f"the length of an {unit} is not known"
            if unit == "epoch"
            else "the length of the run is not known",
            hint="give --samples, or the time of a step: --measured 350ms/step",
        )
    length = estimate_run(
        step,
        Schedule(
            samples=training.samples,
            epochs=training.epochs or 1.0,
            steps=training.steps,
            validation_samples=round(training.validation_share * (training.samples or 0)),
        ),
    )
    found = length.epoch if unit == "epoch" else length.total
    if found is None:
        raise InputError("the length of an epoch is not known", hint="give --samples")
    return found


def _ranked(suspicions: Sequence[Suspicion], ratio: float) -> tuple[Cause, ...]:
    """Return causes that go the way of the excess; first those that would explain most of it and no more."""
    excess = math.log(ratio)
    alike = [s for s in suspicions if s.factor > _LEAST_FACTOR] if excess > 0 else [
        s for s in suspicions if s.factor < 1 / _LEAST_FACTOR
    ]  # fmt: skip
    nearest = sorted(alike, key=lambda s: abs(math.log(s.factor) - excess))
    return tuple(
        Cause(
            name=s.name, factor=s.factor, explains=min(1.0, math.log(s.factor) / excess),
            arithmetic=s.arithmetic, check=s.check,
        )
        for s in nearest[:_MOST_CAUSES]
    )  # fmt: skip
