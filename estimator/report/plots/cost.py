"""The plot of a plan: time against cost of every candidate, with the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.phrases import CURRENCY_SIGNS
from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.plots.figure import Marker
    from estimator.results.plan import Candidate, PlanResult

_WAYS: tuple[tuple[str, str, Marker, int], ...] = (
    ("buy", "buy", "square", 1),
    ("rent", "rent", "circle", 2),
    ("own", "own already", "triangle", 3),
)
_MOST_MARKS = 900


def cost_figure(result: PlanResult) -> Figure:
    """Return cost against time of the experiment, both logarithmic; what has no price is left out.

    The recommended candidate (or the nearest miss) has its name beside it.
    """
    priced = [c for c in result.candidates if c.cost.per_experiment and c.fits is not False]
    front = sorted((c for c in priced if c.on_front), key=lambda c: c.experiment_s)
    shown = _thinned(priced)
    series = [Series(name="Pareto front", kind="line", dash="dashed", tone=0, marks=_marks(result, front))]
    for way, words, marker, tone in _WAYS:
        marks = _marks(result, [c for c in shown if c.way == way])
        series.append(Series(name=words, marks=marks, marker=marker, tone=tone))
    money = f"cost, {result.currency}"
    return Figure(
        name="cost",
        title=f"Time against cost: {_networks(result)}",
        summary=_summary(result, len(priced), len(front)),
        x=Axis(label=f"time of {_span(result)}", quantity=Quantity.SECONDS, log=True),
        y=Axis(
            label=money, quantity=Quantity.MONEY, log=True, currency=CURRENCY_SIGNS.get(result.currency, "")
        ),
        series=tuple(each for each in series if each.marks),
    )


def _thinned(priced: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return all candidates, or the front and every nth other where there are too many to tell apart."""
    stride = 1 + len(priced) // _MOST_MARKS
    return [c for i, c in enumerate(priced) if c.on_front or i % stride == 0]


def _networks(result: PlanResult) -> str:
    return " + ".join(str(one["network"]) for one in result.inputs["networks"])


def _span(result: PlanResult) -> str:
    trials = int(result.inputs.get("trials") or 1)
    return f"{trials} trials" if trials > 1 else "a run"


def _marks(result: PlanResult, candidates: Sequence[Candidate]) -> tuple[Mark, ...]:
    chosen = result.recommendation or result.nearest_miss
    name = (chosen.system, chosen.way) if chosen else None
    return tuple(
        Mark(
            x=c.experiment_s,
            y=c.cost.per_experiment or 0.0,
            tip=_tip(result, c),
            label=c.system if (c.system, c.way) == name else "",
        )
        for c in candidates
    )


def _tip(result: PlanResult, c: Candidate) -> str:
    dated = f", price of {c.cost.as_of}" if c.cost.as_of else ""
    front = ", on the front" if c.on_front else ""
    money = f"{c.cost.per_experiment:,.2f} {result.currency}"
    return f"{c.way} {c.system}: {format_seconds(c.experiment_s)}, {money}{dated}{front}"


def _summary(result: PlanResult, priced: int, on_front: int) -> str:
    unpriced = len(result.candidates) - priced
    text = (
        f"Time and cost of {_span(result)} on {priced:,} candidates that fit and have a price "
        f"({unpriced:,} do not); {on_front} are on the Pareto front: nothing else is both faster and cheaper."
    )
    if result.recommendation is not None:
        text += f" Recommended: {result.recommendation.way} {result.recommendation.system}."
    return text
