"""Measured steps as one flat array of kernel times at full speed, with the coefficients each hangs on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from estimator.calibrate.parameters import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]


@dataclass(slots=True)
class Entries:
    """Columns of equal length, one entry a kernel (or a term of one) of an observation.

    An entry takes ``runs x ((compute_s (1 + depth / k) / e_c)^p + (memory_s / e_m)^p)^(1/p)`` where e_c and
    e_m are the products of the speeds that its ``compute`` and ``memory`` indices name; ``both`` speed up
    the two. ``rival`` is the entry that does the same work another way (-1: none): the faster counts.
    """

    observation: list[Ints] = field(default_factory=list)
    runs: list[Floats] = field(default_factory=list)
    compute_s: list[Floats] = field(default_factory=list)
    memory_s: list[Floats] = field(default_factory=list)
    inverse_k: list[Floats] = field(default_factory=list)
    order: list[Floats] = field(default_factory=list)
    compute: list[Ints] = field(default_factory=list)
    memory: list[Ints] = field(default_factory=list)
    both: list[Ints] = field(default_factory=list)
    depth: list[Ints] = field(default_factory=list)
    rival: list[Ints] = field(default_factory=list)
    count: int = 0

    def add(
        self,
        observation: int,
        runs: Floats,
        *,
        compute_s: Floats | None = None,
        memory_s: Floats | None = None,
        inverse_k: Floats | None = None,
        order: Floats | None = None,
        compute: Ints | None = None,
        memory: Ints | None = None,
        both: Ints | None = None,
        depth: Ints | None = None,
        rival: Ints | None = None,
    ) -> int:
        """Add entries of one observation; index columns are ``(n, any)``. Return where they start."""
        n, start = len(runs), self.count
        zeros, none = np.zeros(n), np.full((n, 1), NONE, dtype=np.intp)
        self.observation.append(np.full(n, observation, dtype=np.intp))
        self.runs.append(runs)
        self.compute_s.append(zeros if compute_s is None else compute_s)
        self.memory_s.append(zeros if memory_s is None else memory_s)
        self.inverse_k.append(zeros if inverse_k is None else inverse_k)
        self.order.append(np.ones(n) if order is None else order)
        self.compute.append(none if compute is None else compute)
        self.memory.append(none if memory is None else memory)
        self.both.append(none if both is None else both)
        self.depth.append(none[:, 0] if depth is None else depth)
        self.rival.append(none[:, 0] if rival is None else rival)
        self.count += n
        return start


class Host(NamedTuple):
    """What the host does in an observation: launches, the coefficient of each, seconds beside them."""

    launches: float = 0.0
    coefficient: int = NONE
    waiting_s: float = 0.0


class Design:
    """The flat problem: evaluates ln(step time) of each observation and its derivatives."""

    def __init__(
        self,
        entries: Entries,
        observations: int,
        parameters: int,
        *,
        launches: Floats,
        host: Ints,
        waiting: Floats,
    ) -> None:
        """Stack the entries.

        By observation: the ``launches``, the index of the ``host``'s coefficient (-1: no host), and what
        the host needs beside them in seconds (``waiting``).
        """
        self.observations = observations
        self.parameters = parameters
        self.launches = launches
        self.host = host
        self.waiting = waiting
        self._observation = np.concatenate(entries.observation)
        self._runs = np.concatenate(entries.runs)
        self._compute_s = np.concatenate(entries.compute_s)
        self._memory_s = np.concatenate(entries.memory_s)
        self._inverse_k = np.concatenate(entries.inverse_k)
        order = np.concatenate(entries.order)
        self._first, self._second = order == 1, order == 2  # noqa: PLR2004  (orders are 1, 2 and 4)
        self._depth = np.concatenate(entries.depth)
        self._compute = _pad(entries.compute)
        self._memory = _pad(entries.memory)
        self._both = _pad(entries.both)
        rival = np.concatenate(entries.rival)
        self._pairs = np.stack([np.flatnonzero(rival != NONE), rival[rival != NONE]])
        self._links = [
            (rows, self._observation[rows] * parameters + column[rows])
            for column in (*self._compute.T, *self._memory.T, *self._both.T, self._depth)
            for rows in [np.flatnonzero(column != NONE)]
        ]

    def log_seconds(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return ln of each observation's time ``(O,)`` and its derivatives ``(O, P)`` by the parameters."""
        padded = np.append(logs, 0.0)  # index -1 is the neutral element
        depth = np.where(self._depth == NONE, 0.0, np.exp(-padded[self._depth])) * self._inverse_k
        both = padded[self._both].sum(axis=1)
        base_c = self._compute_s * np.exp(-padded[self._compute].sum(axis=1) - both)
        compute_s = base_c * (1.0 + depth)
        memory_s = self._memory_s * np.exp(-padded[self._memory].sum(axis=1) - both)
        larger = np.maximum(np.maximum(compute_s, memory_s), 1e-30)
        smaller, total = self._powers(np.minimum(compute_s, memory_s) / larger)
        seconds = larger * self._root(total)
        runs = self._chosen_runs(seconds)
        share_c = np.where(compute_s >= memory_s, 1.0, smaller) / total  # d ln t / d ln tc
        busy = runs * seconds
        device_s = np.bincount(self._observation, weights=busy, minlength=self.observations).astype(
            np.float64
        )
        by_depth = busy * share_c * depth / (1.0 + depth)
        slopes = [busy * share_c] * self._compute.shape[1] + [busy * (1.0 - share_c)] * self._memory.shape[1]
        jacobian = self._sum_slopes([*slopes, *([busy] * self._both.shape[1]), by_depth])
        return self._with_host(padded, device_s, jacobian)

    def _powers(self, ratio: Floats) -> tuple[Floats, Floats]:
        """Return the shorter part's power of each entry's order, and 1 plus it, without the slow power."""
        square = ratio * ratio
        power = np.where(self._first, ratio, np.where(self._second, square, square * square))
        return power, 1.0 + power

    def _root(self, total: Floats) -> Floats:
        root = np.sqrt(total)
        return np.where(self._first, total, np.where(self._second, root, np.sqrt(root)))

    def _chosen_runs(self, seconds: Floats) -> Floats:
        runs = self._runs.copy()
        one, other = self._pairs
        slower = seconds[one] > seconds[other]
        runs[one[slower]] = 0.0
        runs[other[~slower]] = 0.0
        return runs

    def _sum_slopes(self, slopes: list[Floats]) -> Floats:
        """Add up, for each observation and parameter, how much faster the entries that hang on it get."""
        shape = (self.observations, self.parameters)
        slots = np.concatenate([slot for _, slot in self._links])
        weights = np.concatenate([slope[rows] for (rows, _), slope in zip(self._links, slopes, strict=True)])
        summed = np.bincount(slots, weights=weights, minlength=shape[0] * shape[1])
        return -summed.reshape(shape).astype(np.float64)

    def _with_host(self, padded: Floats, device_s: Floats, jacobian: Floats) -> tuple[Floats, Floats]:
        issued_s = np.where(self.host == NONE, 0.0, np.exp(-padded[self.host])) * self.launches
        host_s = issued_s + self.waiting
        log_device = np.log(np.maximum(device_s, 1e-12))
        ratio = (host_s / np.maximum(device_s, 1e-12)) ** 4
        result = log_device + 0.25 * np.log1p(ratio)
        share = 1.0 / (1.0 + ratio)  # d ln T / d ln device
        jacobian *= (share / np.maximum(device_s, 1e-12))[:, None]
        rows = np.flatnonzero(self.host != NONE)
        of_host = issued_s / np.maximum(host_s, 1e-12)
        jacobian[rows, self.host[rows]] -= ((1.0 - share) * of_host)[rows]
        return result, jacobian


def join(own: Ints, shared: list[int]) -> Ints:
    """Put the indices all entries share behind each entry's own, ``(n, any)``."""
    return np.column_stack([own, np.tile(np.array(shared, dtype=np.intp), (len(own), 1))])


def _pad(parts: list[Ints]) -> Ints:
    """Stack index columns of different widths."""
    stacked = np.full((sum(len(part) for part in parts), max(part.shape[1] for part in parts)), NONE)
    begin = 0
    for part in parts:
        stacked[begin : begin + len(part), : part.shape[1]] = part
        begin += len(part)
    return stacked
