"""Robust, bounded least squares on logarithms of times, each unknown held to where it starts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from estimator.calibrate.design import Design
    from estimator.calibrate.parameters import Parameters

    Floats = NDArray[np.float64]

_STEPS = 25
_LONGEST_STEP = 0.5
_CONVERGED = 1e-4
_SCATTER = (0.04, 0.4)
_SHARED, _REPEATED = 0.25, 0.5
_HUBER = 0.2  # beyond 20 % an error counts linearly


def solve(
    design: Design,
    parameters: Parameters,
    log_measured: Floats,
    weights: Floats,
    begin: Floats | None = None,
) -> Floats:
    """Return the logarithms of speeds that fit best, by projected Gauss-Newton with Huber weights.

    Minimises ``sum w huber(ln predicted - ln measured) + sum hold (x - start)^2 / 2`` within the bounds,
    from ``begin`` (default: the start).
    """
    start, hold = np.array(parameters.start), np.array(parameters.hold)
    low, high = np.array(parameters.low), np.array(parameters.high)
    logs = start.copy() if begin is None else begin
    best, damping = np.inf, 1e-3
    kept = logs
    for _ in range(_STEPS):
        predicted, jacobian = design.log_seconds(logs)
        error = predicted - log_measured
        loss = float((weights * _huber(error)).sum() + (0.5 * hold * (logs - start) ** 2).sum())
        if loss > best:
            damping *= 8.0
            logs = 0.5 * (kept + logs)
            continue
        if best - loss < _CONVERGED * max(1.0, loss):
            return logs
        best, kept, damping = loss, logs, max(1e-4, damping / 3.0)
        robust = weights * np.minimum(1.0, _HUBER / np.maximum(np.abs(error), 1e-12))
        gradient = jacobian.T @ (robust * error) + hold * (logs - start)
        pinned = ((logs <= low) & (gradient > 0)) | ((logs >= high) & (gradient < 0))
        matrix = jacobian.T @ (robust[:, None] * jacobian) + np.diag(hold)
        matrix += damping * np.diag(np.diag(matrix))
        free = np.flatnonzero(~pinned)
        step = np.zeros_like(logs)
        step[free] = -np.linalg.solve(matrix[np.ix_(free, free)], gradient[free])
        logs = np.clip(logs + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP), low, high)
    return kept


def _huber(error: Floats) -> Floats:
    size = np.abs(error)
    return np.where(size <= _HUBER, 0.5 * size**2, _HUBER * (size - 0.5 * _HUBER))


def group_weights(groups: Sequence[Hashable], repeats: Sequence[Hashable]) -> Floats:
    """Return weights by which n rows of a group count as n^0.75, and n repeats of a thing as n^0.5.

    Different networks on one machine tell more than one network measured again. On average 1 a row.
    """
    weights = np.ones(len(groups))
    for members, share in ((groups, _SHARED), (repeats, _REPEATED)):
        sizes = Counter(members)
        weights /= np.array([sizes[member] for member in members]) ** share
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def scatter_weights(groups: Sequence[Hashable], errors: Floats, weights: Floats) -> Floats:
    """Return ``weights`` with each group's divided by its squared scatter: noisy sources count less.

    The scatter is the median absolute error, between 4 and 40 %; the sum of the weights stays.
    """
    rows: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        rows.setdefault(group, []).append(index)
    result = weights.copy()
    if not rows:
        return result
    for indices in rows.values():
        scatter = float(np.clip(np.median(np.abs(errors[indices])), *_SCATTER))
        result[indices] /= scatter**2
    return np.asarray(result * (weights.sum() / result.sum()), dtype=np.float64)
