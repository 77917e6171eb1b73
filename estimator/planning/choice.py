"""Choosing among options: constraints, the recommendation, the runner-up, and how sure the choice is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.planning.option import Option

    Score = Callable[[Option], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What must hold; None is no constraint. Money in the options' currency."""

    budget: float | None = None
    deadline_s: float | None = None
    max_memory_bytes: int | None = None
    power_cap_w: float | None = None

    def excess(self, option: Option) -> dict[str, float]:
        """Return the ratio above 1 by which an option misses each constraint; an unknown misses by far."""
        parts = (
            ("budget", option.outlay, self.budget),
            ("deadline", option.experiment_s, self.deadline_s),
            ("memory", option.memory_bytes, self.max_memory_bytes),
            ("power", option.power_w, self.power_cap_w),
        )
        ratios = {
            name: float("inf") if value is None else value / limit
            for name, value, limit in parts
            if limit is not None
        }
        return {name: ratio for name, ratio in ratios.items() if ratio > 1}

    def hold(self, option: Option) -> bool:
        """Tell whether an option can be used and meets every constraint."""
        return option.fits is True and option.per_experiment is not None and not self.excess(option)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to take. ``rivals`` would win if they ran at the low and the choice at the high end of its range.

    ``robust``: there is no such rival and the choice still meets the constraints at its high end;
    ``robust_together``: the choice stays when all times are off by the same factor.
    """

    chosen: Option
    runner_up: Option | None
    rule: str
    robust: bool
    robust_together: bool
    rivals: tuple[Option, ...]


CHEAPEST, FASTEST = "cheapest", "fastest"
_SCORES: dict[str, Score] = {
    CHEAPEST: lambda o: (o.per_experiment or 0.0, o.experiment_s),
    FASTEST: lambda o: (o.experiment_s, o.per_experiment or 0.0),
}


def rule_of(constraints: Constraints) -> str:
    """Return what is best: the fastest within a budget; by a deadline, or with neither, the cheapest."""
    within_budget = constraints.budget is not None and constraints.deadline_s is None
    return FASTEST if within_budget else CHEAPEST


def choose(options: Sequence[Option], constraints: Constraints) -> Choice | None:
    """Return the best option and the next of another device; None where none meets the constraints."""
    rule = rule_of(constraints)
    score = _SCORES[rule]
    good = [o for o in options if constraints.hold(o)]
    if not good:
        return None
    chosen = min(good, key=score)
    others = [o for o in good if (o.device, o.way) != (chosen.device, chosen.way)]
    slow = at(chosen, chosen.high_s)
    rivals = tuple(o for o in others if constraints.hold(low := at(o, o.low_s)) and score(low) < score(slow))
    together = []
    for factor in (chosen.low_s / chosen.experiment_s, chosen.high_s / chosen.experiment_s):
        moved = [at(o, factor * o.experiment_s) for o in options]
        best = min((o for o in moved if constraints.hold(o)), key=score, default=None)
        together.append(best is not None and (best.name, best.way) == (chosen.name, chosen.way))
    return Choice(
        chosen=chosen,
        runner_up=min(others, key=score, default=None),
        rule=rule,
        robust=not rivals and constraints.hold(slow),
        robust_together=all(together),
        rivals=tuple(sorted(rivals, key=score)),
    )


def at(option: Option, experiment_s: float) -> Option:
    """Return an option as it would be at another time: costs by the hour grow with it."""
    factor = experiment_s / option.experiment_s
    return replace(
        option,
        run_s=option.run_s * factor,
        experiment_s=experiment_s,
        per_run=None if option.per_run is None else option.per_run * factor,
        per_experiment=None if option.per_experiment is None else option.per_experiment * factor,
    )


def nearest_miss(
    options: Sequence[Option], constraints: Constraints
) -> tuple[Option, dict[str, float]] | None:
    """Return the usable option that misses by least, with each ratio it misses by."""
    usable = [o for o in options if o.fits is True and o.per_experiment is not None]
    if not usable:
        return None
    best = min(usable, key=lambda o: max(constraints.excess(o).values(), default=0.0))
    return best, constraints.excess(best)
