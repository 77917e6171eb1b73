"""What a machine without PyTorch can still time: a network's largest products and its traffic, in NumPy."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.measure.statistics import Times, times_of
from estimator.predict.table import product_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from estimator.workload.kernel import Kernel
    from estimator.workload.workload import Workload

_MOST_SHAPES = 24
_LARGEST_BYTES = 1 << 30  # of one product's operands: larger ones are timed at a part of their rows
_STREAM_BYTES = 64 << 20
_FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductTimes:
    """Seconds that a step's products and its other traffic would take at NumPy's rates.

    ``share`` is the part of the step's FLOPs that was timed; the rest is scaled up with it.
    """

    step: Times
    products_s: float
    traffic_s: float
    share: float


def measure_products(workload: Workload, budget_s: float) -> ProductTimes:
    """Time the distinct matrix products of a step, largest first, and a copy as large as the caches are not.

    A convolution counts as the matrix product it amounts to, without the cost of arranging its operands.
    """
    kernels = [kernel for layer in workload.layers for kernel in layer.kernels]
    shapes: Counter[tuple[int, int, int, int]] = Counter()
    for kernel in kernels:
        if kernel.flops and kernel.shape is not None:
            batch, m, n, k = (int(x) for x in product_shape(kernel)[:4])
            shapes[batch, m, n, max(1, k)] += 1
    by_size = sorted(shapes, key=lambda s: -shapes[s] * s[0] * s[1] * s[2] * s[3])[:_MOST_SHAPES]
    total = sum(count * _flops(shape) for shape, count in shapes.items())
    timed = sum(shapes[shape] * _flops(shape) for shape in by_size)
    runs: list[tuple[float, Callable[[], float]]] = [
        (float(shapes[shape]), _product(shape)) for shape in by_size
    ]
    each = 0.8 * budget_s / max(1, len(runs))
    found = [(count, _repeat(run, each)) for count, run in runs]
    share = timed / total if total else 1.0
    moved = workload.repeats * _other_bytes(kernels) + _other_bytes(workload.optimizer)
    copies = _repeat(_copy(), 0.2 * budget_s)
    scale = workload.repeats / share if share else 0.0

    def step(pick: Callable[[list[float]], float]) -> float:
        products = scale * sum(count * pick(seconds) for count, seconds in found)
        return products + moved / (2 * _STREAM_BYTES) * pick(copies)

    repetitions = min([len(seconds) for _, seconds in found] + [len(copies)])
    return ProductTimes(
        step=_spread(step, repetitions),
        products_s=scale * sum(count * times_of(seconds).median for count, seconds in found),
        traffic_s=moved / (2 * _STREAM_BYTES) * times_of(copies).median,
        share=share,
    )


def _spread(step: Callable[[Callable[[list[float]], float]], float], steps: int) -> Times:
    return Times(
        median=step(lambda s: times_of(s).median),
        p10=step(lambda s: times_of(s).p10),
        p90=step(lambda s: times_of(s).p90),
        steps=steps,
    )


def _flops(shape: tuple[int, int, int, int]) -> float:
    batch, m, n, k = shape
    return 2.0 * batch * m * n * k


def _product(shape: tuple[int, int, int, int]) -> Callable[[], float]:
    """Return what runs a product once and says how long the whole would take."""
    batch, m, n, k = shape
    size = 4 * batch * (m * k + k * n + m * n)
    part = max(1, int(m * min(1.0, _LARGEST_BYTES / size)))
    left, right = np.ones((batch, part, k), np.float32), np.ones((batch, k, n), np.float32)
    out = np.empty((batch, part, n), np.float32)

    def run() -> float:
        start = time.perf_counter()
        np.matmul(left, right, out=out)
        return (time.perf_counter() - start) * m / part

    return run


def _copy() -> Callable[[], float]:
    source, target = np.ones(_STREAM_BYTES // 4, np.float32), np.empty(_STREAM_BYTES // 4, np.float32)

    def run() -> float:
        start = time.perf_counter()
        np.copyto(target, source)
        return time.perf_counter() - start

    return run


def _repeat(run: Callable[[], float], budget_s: float) -> list[float]:
    run()
    seconds: list[float] = []
    end = time.perf_counter() + budget_s
    while len(seconds) < _FEWEST or time.perf_counter() < end:
        seconds.append(run())
    return seconds


def _other_bytes(kernels: Iterable[Kernel]) -> int:
    """Return the bytes that kernels without products move."""
    return sum(kernel.bytes for kernel in kernels if not kernel.flops)
