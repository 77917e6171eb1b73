"""Marks in time on a device, and the seconds between them: the host's clock, or events of a GPU's stream."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from estimator.measure.framework import import_torch

if TYPE_CHECKING:
    from estimator.measure.framework import Torch


class Clock(Protocol):
    """Takes marks while work runs; ``settle`` waits for the device, after which ``between`` may be asked."""

    def mark(self) -> object:
        """Return a point in time of the device's work."""

    def settle(self) -> None:
        """Wait until all marked work is done."""

    def between(self, start: object, end: object) -> float:
        """Return the seconds from one mark to another."""


class HostClock:
    """The processor's own clock: on a CPU an operator is done when its call returns."""

    def mark(self) -> object:
        """Read the clock."""
        return time.perf_counter()

    def settle(self) -> None:
        """Wait for nothing."""

    def between(self, start: object, end: object) -> float:
        """Subtract."""
        assert isinstance(start, float)  # noqa: S101 - this clock's own marks
        assert isinstance(end, float)  # noqa: S101
        return end - start


class ThreadClock(HostClock):
    """The processor time of this thread: what a step takes if nothing else runs and one thread does it."""

    def mark(self) -> object:
        """Read the thread's time."""
        return time.thread_time()


class CudaClock:
    """Events on the GPU's stream: what lies between two is the device's time, without the host's lead."""

    def __init__(self, device: Torch) -> None:
        """Use the device's current stream."""
        self.torch = import_torch()
        self.device = device

    def mark(self) -> object:
        """Record an event."""
        event = self.torch.cuda.Event(enable_timing=True)
        event.record(self.torch.cuda.current_stream(self.device))
        return event

    def settle(self) -> None:
        """Wait for the stream."""
        self.torch.cuda.synchronize(self.device)

    def between(self, start: object, end: object) -> float:
        """Return the time between two events, which the driver gives in milliseconds."""
        return float(start.elapsed_time(end)) * 1e-3  # type: ignore[attr-defined]


class WaitingClock(HostClock):
    """The host's clock, read after waiting for the device: where there are no events to be had."""

    def __init__(self) -> None:
        """Find what to wait for."""
        self.torch = import_torch()

    def mark(self) -> object:
        """Wait, then read."""
        self.settle()
        return time.perf_counter()

    def settle(self) -> None:
        """Wait for the Apple GPU."""
        self.torch.mps.synchronize()


def clock_of(device: Torch, *, cpu_time: bool = False) -> Clock:
    """Return the clock of a device's kind; ``cpu_time`` asks for the thread's own on a CPU."""
    if cpu_time:
        return ThreadClock()
    if device.type == "cuda":
        return CudaClock(device)
    return WaitingClock() if device.type == "mps" else HostClock()
