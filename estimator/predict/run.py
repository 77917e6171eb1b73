"""From a step to an epoch and a run: steps, validation, start-up and checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.predict.estimate import StepEstimate
    from estimator.predict.interval import TimeRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How much is trained: ``samples`` an epoch for ``epochs``, or ``steps`` in all.

    ``validation_samples`` run forward only after each epoch; ``start_s`` is loading, compiling and the
    first slow steps; each of ``checkpoints`` writes ``checkpoint_bytes`` at ``disk_bytes_per_s`` while
    training waits.
    """

    samples: int | None = None
    epochs: float = 1.0
    steps: int | None = None
    validation_samples: int = 0
    start_s: float = 0.0
    checkpoints: int = 0
    checkpoint_bytes: int = 0
    disk_bytes_per_s: float = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEstimate:
    """Times of a run; ``epoch`` is None when steps were given and no size of an epoch."""

    step: TimeRange
    steps: int
    epoch: TimeRange | None
    total: TimeRange


def estimate_run(step: StepEstimate, schedule: Schedule) -> RunEstimate:
    """Return epoch and run; the range scales with the step's.

    What makes a prediction wrong (an efficiency, a clock, a framework) is the same in every step, so
    errors do not average out over steps and epochs: no square root of their number.
    """
    per_epoch = _steps_per_epoch(step, schedule)
    validation_s = _validation_s(step, schedule)
    if schedule.steps is not None:
        steps = schedule.steps
    elif per_epoch is not None:
        steps = math.ceil(per_epoch * schedule.epochs)
    else:
        raise InputError("neither steps nor samples are given", hint="give steps, or samples and epochs")
    epochs = steps / per_epoch if per_epoch else 0.0
    fixed_s = schedule.start_s + schedule.checkpoints * schedule.checkpoint_bytes / schedule.disk_bytes_per_s
    expected = step.time.expected
    total_s = steps * expected + epochs * validation_s + fixed_s
    return RunEstimate(
        step=step.time,
        steps=steps,
        epoch=step.time.scaled((per_epoch * expected + validation_s) / expected) if per_epoch else None,
        total=step.time.scaled(total_s / expected),
    )


def _steps_per_epoch(step: StepEstimate, schedule: Schedule) -> int | None:
    if schedule.samples is None:
        return None
    if schedule.samples <= 0:
        raise InputError("an epoch needs at least one sample")
    return math.ceil(schedule.samples / step.samples)


def _validation_s(step: StepEstimate, schedule: Schedule) -> float:
    """Forward passes, at the training batch, with the input pipeline's share."""
    per_sample = (step.phases.forward_s + step.phases.data_s) / step.samples
    return schedule.validation_samples * per_sample
