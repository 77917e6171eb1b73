"""The repetitions of a measurement: warm-up until steady, then whole steps with watched ones among them."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from estimator.measure.layer_times import LayerWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.measure.clock import Clock
    from estimator.measure.step import TrainingStep

    # Told the share of the time that has passed and the seconds of the last step.
    Progress = Callable[[float, float], None]

_WHOLE_A_CYCLE = 3  # whole steps before each watched one
_WARM_SHARE = 0.25  # of the budget, at most
_FEWEST_WARM, _STEADY = 2, 0.05
_MOST_WARM = 50


@dataclass(slots=True)
class Repetitions:
    """Seconds of every repetition: whole steps, their phases, and layers of the watched steps by node."""

    steps_s: list[float] = field(default_factory=list)
    phases_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    forward_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    backward_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    watched: int = 0
    warm_up: int = 0
    interrupted: bool = False


def repeat(
    step: TrainingStep,
    clock: Clock,
    budget_s: float,
    *,
    watch: bool = True,
    agree: Callable[[int], int] = lambda ended: ended,
    progress: Progress | None = None,
) -> Repetitions:
    """Run a step for about ``budget_s`` seconds; Ctrl-C ends it with what there is.

    ``agree`` makes all processes of a group end with the same cycle. Raises KeyboardInterrupt
    where it comes before the first whole step, MeasurementError where the loss is not finite.
    """
    done = Repetitions()
    begun = time.perf_counter()
    try:
        _warm_up(step, clock, _WARM_SHARE * budget_s, done, agree)
        step.check_loss()
        over = False
        while not over:
            cycle = time.perf_counter()
            for _ in range(_WHOLE_A_CYCLE):
                _whole(step, clock, done)
            if watch:
                _watched(step, clock, done)
            now = time.perf_counter()
            if progress:
                progress(min(1.0, (now - begun) / budget_s), done.steps_s[-1])
            another_s = (now - cycle) / 2  # half of another one: the budget is kept to on average
            over = bool(agree(int(now - begun + another_s > budget_s)))
        step.check_loss()
    except KeyboardInterrupt:
        if not done.steps_s:
            raise
        done.interrupted = True
    return done


def _warm_up(
    step: TrainingStep, clock: Clock, budget_s: float, done: Repetitions, agree: Callable[[int], int]
) -> None:
    """Run steps until two after each other take the same time, or the budget is used."""
    begun, last = time.perf_counter(), float("inf")
    while True:
        spans = step.run(clock)
        clock.settle()
        own = clock.between(spans[0].start, spans[-1].end)
        done.warm_up += 1
        steady = abs(own / last - 1) < _STEADY
        over = time.perf_counter() - begun > budget_s or done.warm_up >= _MOST_WARM
        if agree(int(done.warm_up >= _FEWEST_WARM and (steady or over))):
            return
        last = own


def _whole(step: TrainingStep, clock: Clock, done: Repetitions) -> None:
    spans = step.run(clock)
    clock.settle()
    done.steps_s.append(clock.between(spans[0].start, spans[-1].end))
    phases: dict[str, float] = defaultdict(float)
    for span in spans:
        phases[span.phase] += clock.between(span.start, span.end)
    for phase, seconds in phases.items():
        done.phases_s[phase].append(seconds)


def _watched(step: TrainingStep, clock: Clock, done: Repetitions) -> None:
    watch = LayerWatch(clock)
    step.graph.watch = watch
    try:
        spans = step.run(clock)
        clock.settle()
    finally:
        step.graph.watch = None
    forward, backward = watch.seconds(spans)
    for index, seconds in forward.items():
        done.forward_s[index].append(seconds)
    for index, seconds in backward.items():
        done.backward_s[index].append(seconds)
    done.watched += 1
