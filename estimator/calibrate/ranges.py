"""How far predictions are off for what a calibration has not seen: residuals of held-out groups."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.hardware.efficiency import Spread
from estimator.predict.interval import spread_keys, tier_of
from estimator.predict.step import is_unusual
from estimator.predict.sweep import kernel_times
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from estimator.calibrate.fit import Fit, Problem
    from estimator.calibrate.observation import Observation
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.interval import Tier

    Others = Callable[[str, frozenset[str], Calibration], list["Residual"]]

_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_LEAST_ROWS = 40
_LEAST_GROUPS = 3
_DEEPER = 0.1  # a quantile over groups under-covers a little: 0.80 is taken at 0.82
_FOLDS = 4
_MOST_ROWS = 10  # of one source, device and precision: the ranges are of groups, not of rows

GROUPS: dict[str, Callable[[Observation], str]] = {
    "device": lambda o: o.device.id,
    "architecture": lambda o: o.device.architecture.id,
    "source": lambda o: o.source,
    "network": lambda o: o.network,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """ln(measured / predicted) of one row by a calibration that had not seen its group.

    ``several``: a run on several devices.
    """

    kind: str
    precision: str
    tier: Tier
    unusual: bool
    group: str
    error: float
    several: bool = False


def folds(groups: Sequence[str], count: int = _FOLDS) -> list[frozenset[str]]:
    """Return at most ``count`` sets of groups; the largest are dealt out first, always the same way."""
    sizes = {group: groups.count(group) for group in set(groups)}
    dealt: list[list[str]] = [[] for _ in range(min(count, len(sizes)))]
    for group in sorted(sizes, key=lambda g: (-sizes[g], g)):
        min(dealt, key=lambda fold: (sum(sizes[g] for g in fold), dealt.index(fold))).append(group)
    return [frozenset(fold) for fold in dealt]


def sample(observations: Sequence[Observation]) -> list[Observation]:
    """Return at most ten rows, evenly spaced, of each source, device and precision."""
    members: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, one in enumerate(observations):
        members[one.source, one.device.id, one.precision].append(index)
    chosen = sorted(
        rows[i * len(rows) // min(_MOST_ROWS, len(rows))]
        for rows in members.values()
        for i in range(min(_MOST_ROWS, len(rows)))
    )
    return [observations[index] for index in chosen]


def cross_validate(
    problem: Problem, by: str, begin: Fit | None = None, joint: Others | None = None
) -> list[Residual]:
    """Return the residual of every observation, predicted without the observations of its group.

    ``begin`` is where each fit searches from: what a group alone decides returns to its start without it.
    ``joint`` gives those of runs on several devices by each fit's calibration.
    """
    observations = problem.observations
    names = [GROUPS[by](observation) for observation in observations]
    unusual = [_is_unusual(observation, problem.start) for observation in observations]
    found = []
    for fold in folds(names):
        held = np.array([name in fold for name in names])
        if held.all():
            continue
        fitted = problem.fit(~held, begin)
        if joint is not None:
            found += joint(by, fold, fitted.calibration)
        found += [
            Residual(
                kind=observations[i].device.kind.value,
                precision=observations[i].precision,
                tier=tier_of(observations[i].device, fitted.calibration),
                unusual=unusual[i],
                group=names[i],
                error=float(fitted.residuals[i]),
            )
            for i in np.flatnonzero(held).tolist()
        ]
    return found


def _is_unusual(observation: Observation, calibration: Calibration) -> bool:
    times = kernel_times(observation.table, observation.device, observation.software, calibration)
    return is_unusual(observation.table, times.total_s[:, 0])


def spreads_of(residuals: Iterable[Residual], source: str) -> dict[str, Spread]:
    """Return the quantiles of the absolute errors, for every stratum with rows and groups enough."""
    strata: dict[str, list[Residual]] = defaultdict(list)
    for each in residuals:
        for key in _keys(each):
            strata[key].append(each)
    return {
        key: _spread(key, rows, source)
        for key, rows in sorted(strata.items())
        if len(rows) >= _LEAST_ROWS and len({row.group for row in rows}) >= _LEAST_GROUPS
    }


def _keys(residual: Residual) -> list[str]:
    """Return the strata of a residual; one of several devices is in no stratum of single ones."""
    keys = spread_keys(
        residual.tier, kind=residual.kind, precision=residual.precision, unusual=residual.unusual,
        several=residual.several,
    )  # fmt: skip
    return [key for key in keys if key.endswith("several")] if residual.several else keys


def _spread(key: str, rows: Sequence[Residual], source: str) -> Spread:
    errors = np.abs([row.error for row in rows])
    levels = [min(1.0, (c + _DEEPER * c * (1.0 - c)) * (1.0 + 1.0 / len(rows))) for c in _COVERAGES]
    values = np.quantile(errors, levels)
    return Spread(
        tier=key,
        quantiles={c: round(float(v), 4) for c, v in zip(_COVERAGES, values, strict=True)},
        rows=len(rows),
        provenance=Provenance(source, Basis.CALIBRATED),
    )
