"""The plot of predicted against measured times: the diagonal is a perfect prediction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.plots.figure import Dash, Marker
    from estimator.results.evaluation import Detail, Evaluation

_FACTORS: tuple[tuple[float, str, Dash], ...] = (
    (1.0, "predicted = measured", "solid"),
    (2.0, "twice as long", "dashed"),
    (0.5, "half as long", "dotted"),
)
_MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond")
_MOST_MARKS = 1500


def accuracy_figure(result: Evaluation) -> Figure:
    """Return predicted against measured seconds a step; needs an evaluation with details."""
    rows = _spread(result.details)
    times = [t / row.steps for row in rows for t in (row.measured_s, row.predicted_s)]
    tiers = list(dict.fromkeys(row.tier for row in rows))
    scores = result.overall
    median = f" The median error is {100 * scores.median_ape:.0f} %." if scores else ""
    return Figure(
        name="accuracy",
        title="Predicted against measured, a step",
        summary=f"{len(rows)} of {len(result.details)} measured rows.{median} "
        "The lines are a perfect prediction and factors of two.",
        x=Axis(label="measured", quantity=Quantity.SECONDS, log=True),
        y=Axis(label="predicted", quantity=Quantity.SECONDS, log=True),
        series=(
            *guides(times),
            *(
                Series(
                    name=tier,
                    marker=_MARKERS[index % len(_MARKERS)],
                    tone=1 + index % 5,
                    marks=tuple(_mark(row) for row in rows if row.tier == tier),
                )
                for index, tier in enumerate(tiers)
            ),
        ),
    )


def _spread(details: Sequence[Detail]) -> Sequence[Detail]:
    """Return every nth row where there are too many to tell apart, evenly over the table."""
    return details[:: math.ceil(len(details) / _MOST_MARKS)] if details else details


def guides(times: Sequence[float]) -> tuple[Series, ...]:
    """Return the lines of a perfect prediction and of factors of two, over the span of some times."""
    low, high = min(times) / 1.5, max(times) * 1.5
    return tuple(_guide(factor, name, dash, low, high) for factor, name, dash in _FACTORS)


def _guide(factor: float, name: str, dash: Dash, low: float, high: float) -> Series:
    ends = (Mark(x=low, y=low * factor, tip=name), Mark(x=high, y=high * factor, tip=name))
    return Series(name=name, kind="line", dash=dash, tone=0, marks=ends)


def _mark(row: Detail) -> Mark:
    measured, predicted = row.measured_s / row.steps, row.predicted_s / row.steps
    tip = (
        f"{row.model} on {row.label}, batch {row.batch:g}, {row.precision}: measured "
        f"{format_seconds(measured)}, predicted {format_seconds(predicted)} ({row.ratio:.2f}x)"
    )
    return Mark(x=measured, y=predicted, tip=tip)
