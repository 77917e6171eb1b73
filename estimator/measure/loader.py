"""How many images a second an input pipeline delivers, by number of worker processes."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.measure.images import can_decode, load_image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_FEWEST_IMAGES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderMeasurement:
    """Images a second by workers (0: in the training process), bytes a second of reading alone.

    ``decoded`` is False where images could only be read: there is no decoder for them here.
    """

    rates: tuple[tuple[int, float], ...]
    read_bytes_per_s: float
    image_bytes: float
    decoded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker does with an image; can be sent to a process."""

    size: tuple[int, int]
    own: bool
    decode: bool

    def __call__(self, path: Path) -> int:
        """Load an image; return how many numbers came out."""
        if not self.decode:
            return len(path.read_bytes())
        return int(load_image(path, self.size, own=self.own).size)


def measure_loader(
    paths: Sequence[Path],
    size: tuple[int, int],
    budget_s: float,
    *,
    own: bool,
    workers: Sequence[int],
    progress: Callable[[str], None] | None = None,
) -> LoaderMeasurement:
    """Run the pipeline with each number of workers for its share of the budget."""
    decode = can_decode(paths[0], own=own)
    task = Task(size=size, own=own, decode=decode)
    share = budget_s / (len(workers) + 1)
    bytes_read, read_s = _read(paths, share)
    rates = []
    for count in workers:
        if progress:
            progress(f"loading images with {count} workers")
        rates.append((count, _rate(task, paths, count, share)))
    return LoaderMeasurement(
        rates=tuple(rates),
        read_bytes_per_s=bytes_read / read_s,
        image_bytes=sum(path.stat().st_size for path in paths) / len(paths),
        decoded=decode,
    )


def worker_counts(cpus: float) -> tuple[int, ...]:
    """Return the numbers of workers to try: none, then doubling up to twice the CPUs."""
    counts = [0, 1]
    while counts[-1] < 2 * cpus:
        counts.append(2 * counts[-1])
    return tuple(counts)


def _read(paths: Sequence[Path], budget_s: float) -> tuple[int, float]:
    total, start = 0, time.perf_counter()
    for path in _again(paths):
        total += len(path.read_bytes())
        passed = time.perf_counter() - start
        if passed > budget_s / 2 and total:
            return total, passed
    raise AssertionError  # the paths never end


def _rate(task: Task, paths: Sequence[Path], workers: int, budget_s: float) -> float:
    if workers == 0:
        return _timed(map(task, _again(paths)), budget_s)
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers) as pool:
        # Workers start and import before the clock does.
        pool.map(task, list(paths[: 2 * workers]), chunksize=1)
        return _timed(pool.imap_unordered(task, _limited(paths, workers), chunksize=4), budget_s)


def _timed(results: Iterator[int], budget_s: float) -> float:
    start, count = time.perf_counter(), 0
    for _ in results:
        count += 1
        passed = time.perf_counter() - start
        if passed > budget_s and count >= _FEWEST_IMAGES:
            break
    return count / max(time.perf_counter() - start, 1e-9)


def _again(paths: Sequence[Path]) -> Iterator[Path]:
    while True:
        yield from paths


def _limited(paths: Sequence[Path], workers: int) -> Iterator[Path]:
    """Give images for a while: a pool takes all that an iterator gives, however slow its workers are."""
    left = max(_FEWEST_IMAGES, 400 * workers)
    for path in _again(paths):
        if left == 0:
            return
        left -= 1
        yield path
