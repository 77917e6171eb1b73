"""All-reduces between real processes, by size, and the straight line through their times."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import MeasurementError
from estimator.measure.framework import check_device, import_torch
from estimator.measure.group import current_group
from estimator.measure.statistics import times_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.measure.framework import Torch
    from estimator.measure.group import Group

SIZES = tuple(4**power for power in range(6, 14))  # 4 KiB to 64 MiB
_EACH_S = 0.4
_FEWEST, _MOST = 5, 200
_ITEM = 4  # fp32
_NEWTON_STEPS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMeasurement:
    """Median seconds by bytes of each process, and ``seconds = alpha_s + 2 (n - 1) / n x bytes / bus``."""

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    alpha_s: float
    bus_bytes_per_s: float
    processes: int
    hosts: int
    backend: str

    def fitted_s(self, size: int) -> float:
        """Return what the line says of a size."""
        return self.alpha_s + ring_share(self.processes) * size / self.bus_bytes_per_s


def ring_share(processes: int) -> float:
    """Return the part of a message that each link carries in a ring all-reduce, both ways: 2 (n - 1) / n."""
    return 2 * (processes - 1) / processes


def measure_link(
    asked: str, progress: Callable[[str], None] | None = None, sizes: Sequence[int] = SIZES
) -> LinkMeasurement | None:
    """Measure between the processes that torchrun started; None in all but the first of them.

    Raises MeasurementError in a process that is alone, or where another one ends.
    """
    group = current_group(asked)
    if group.size == 1:
        raise MeasurementError(
            "an all-reduce needs several processes",
            hint="torchrun --nproc-per-node 2 -m estimator measure --collectives",
        )
    device = check_device(group.device(asked))
    try:
        with group:
            seconds = [_all_reduce(size, group, device, progress) for size in sizes]
            hosts = _hosts(group)
    except RuntimeError as error:
        raise MeasurementError(
            f"another process of the group ended or does not answer: {str(error).splitlines()[0]}",
            hint="look at its output; all processes must run the same command",
        ) from None
    if not group.first:
        return None
    alpha_s, bus = fit_line([ring_share(group.size) * size for size in sizes], seconds)
    return LinkMeasurement(
        sizes=tuple(sizes), seconds=tuple(seconds), alpha_s=alpha_s, bus_bytes_per_s=bus,
        processes=group.size, hosts=hosts, backend=group.backend,
    )  # fmt: skip


def fit_line(moved: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return ``(alpha_s, bytes a second)`` of the line with the least squared errors of logarithms.

    Sizes span decades: an error counts by its ratio, at small messages as at large ones. Newton's steps in
    the logarithms of both figures keep them positive.
    """
    times, sizes = np.asarray(seconds), np.asarray(moved)
    if times[-1] <= times[0]:
        raise MeasurementError(
            "all-reduces of larger messages took no longer: the times are noise",
            hint="measure again when the machine is quiet",
        )
    logs = np.log([times.min(), (times[-1] - times.min()) / sizes[-1]])
    for _ in range(_NEWTON_STEPS):
        parts = np.column_stack([np.full(len(sizes), np.exp(logs[0])), np.exp(logs[1]) * sizes])
        total = parts.sum(axis=1)
        step, *_ = np.linalg.lstsq(parts / total[:, None], np.log(times / total), rcond=None)
        logs = logs + np.clip(step, -1.0, 1.0)
    return float(np.exp(logs[0])), float(np.exp(-logs[1]))


def _all_reduce(size: int, group: Group, device: Torch, progress: Callable[[str], None] | None) -> float:
    torch = import_torch()
    values = torch.ones(size // _ITEM, device=device)
    if progress:
        progress(f"all-reduce of {size} bytes in {group.size} processes")

    def once() -> float:
        torch.distributed.barrier()
        _settle(torch, device)
        start = time.perf_counter()
        torch.distributed.all_reduce(values)
        _settle(torch, device)
        return time.perf_counter() - start

    once()
    values.fill_(1.0)
    took = once()
    count = group.agree(int(min(_MOST, max(_FEWEST, _EACH_S / max(took, 1e-6)))))
    return times_of([once() for _ in range(count)]).median


def _settle(torch: Torch, device: Torch) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _hosts(group: Group) -> int:
    """Return on how many hosts the processes run."""
    torch = import_torch()
    names: list[str] = [""] * group.size
    torch.distributed.all_gather_object(names, socket.gethostname())
    return len(set(names))
