"""Where larger batches stop paying off (the knee) and stop fitting (the wall)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.results.sweep import SweepPoint

_NEAR_BEST = 0.9


def marked(points: Sequence[SweepPoint]) -> tuple[SweepPoint, ...]:
    """Return the points with knees and walls, one each in every series over the batch."""
    series: dict[tuple[object, ...], list[int]] = {}
    for index, point in enumerate(points):
        others = tuple(item for item in point.settings.items() if item[0] != "batch")
        series.setdefault((point.device, point.devices, others), []).append(index)
    rows = list(points)
    for members in series.values():
        if len(members) > 1:
            _mark(rows, sorted(members, key=lambda i: rows[i].batch))
    return tuple(rows)


def _mark(rows: list[SweepPoint], members: Sequence[int]) -> None:
    fitting = [i for i in members if rows[i].fits is not False]
    if not fitting:
        return
    best = max(rows[i].samples_per_s for i in fitting)
    knee = next(i for i in fitting if rows[i].samples_per_s >= _NEAR_BEST * best)
    rows[knee] = replace(rows[knee], knee=True)
    if len(fitting) < len(members):
        rows[fitting[-1]] = replace(rows[fitting[-1]], wall=True)
