"""Errors of predictions against measurements: per group, over all, and of the order of devices."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.results.evaluation import Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_DEVICES = 4
_APART = 1.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Predicted ranges and measured times in seconds, one entry a row: all of shape (rows,)."""

    low: Floats
    expected: Floats
    high: Floats
    measured: Floats

    def pick(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Times:
        """Return the rows of ``index``."""
        return Times(
            low=self.low[index],
            expected=self.expected[index],
            high=self.high[index],
            measured=self.measured[index],
        )

    def __len__(self) -> int:
        return len(self.measured)


def score(times: Times) -> Scores | None:
    """Return the errors of a set of rows, or None for an empty set."""
    if not len(times):
        return None
    ratio = times.expected / times.measured
    ape = np.abs(ratio - 1)
    half, ten, quarter = 0.5, 0.1, 0.25
    inside = (times.low <= times.measured) & (times.measured <= times.high)
    return Scores(
        n=len(times),
        mape=float(ape.mean()),
        median_ape=float(np.median(ape)),
        p90_ape=float(np.quantile(ape, 0.9)),
        within_10=float((ape <= ten).mean()),
        within_25=float((ape <= quarter).mean()),
        within_50=float((ape <= half).mean()),
        within_2x=float(((ratio > half) & (ratio < 1 / half)).mean()),
        median_log_ratio=float(np.median(np.log(ratio))),
        coverage_80=float(inside.mean()),
    )


def score_groups(times: Times, keys: Sequence[str]) -> dict[str, Scores]:
    """Return the errors by key, the largest group first."""
    rows: dict[str, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        rows[key].append(index)
    ordered = sorted(rows.items(), key=lambda item: (-len(item[1]), item[0]))
    scored = ((key, score(times.pick(np.array(index)))) for key, index in ordered)
    return {key: scores for key, scores in scored if scores}


def rank_devices(
    *, expected: Floats, measured: Floats, groups: Sequence[Hashable], devices: Sequence[str]
) -> Ranking:
    """Compare the order of devices, predicted and measured, within each group of at least four devices.

    ``expected`` and ``measured`` are seconds a sample; of several rows of a device its fastest measured one
    stands for it. Kendall's tau counts a tie in the prediction as neither right nor wrong.
    """
    best: dict[Hashable, dict[str, int]] = defaultdict(dict)
    for index, (group, device) in enumerate(zip(groups, devices, strict=True)):
        chosen = best[group].setdefault(device, index)
        if measured[index] < measured[chosen]:
            best[group][device] = index
    picked = [np.array(list(each.values())) for each in best.values() if len(each) >= _FEWEST_DEVICES]
    if not picked:
        return Ranking(groups=0, kendall_tau=None, kendall_tau_apart=None, best_right=None)
    order = [_order(expected[index], measured[index]) for index in picked]
    apart = [tau for _, tau, _ in order if tau is not None]
    return Ranking(
        groups=len(picked),
        kendall_tau=float(np.mean([tau for tau, _, _ in order])),
        kendall_tau_apart=float(np.mean(apart)) if apart else None,
        best_right=float(np.mean([right for _, _, right in order])),
    )


def _order(expected: Floats, measured: Floats) -> tuple[float, float | None, bool]:
    """Kendall's tau over all pairs, over pairs more than 10 % apart, and whether the fastest is right."""
    first, second = np.triu_indices(len(measured), 1)
    agree = np.sign(expected[first] - expected[second]) * np.sign(measured[first] - measured[second])
    far = np.maximum(measured[first] / measured[second], measured[second] / measured[first]) > _APART
    return (
        float(agree.mean()),
        float(agree[far].mean()) if far.any() else None,
        bool(np.argmin(expected) == np.argmin(measured)),
    )
