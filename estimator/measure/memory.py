"""Memory of a measurement: what is free before it, and the most it held."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.errors import MeasurementError
from estimator.measure.framework import import_torch
from estimator.units import format_bytes

if TYPE_CHECKING:
    from estimator.measure.framework import Torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): resets the peak resident set size
_KIB = 1024


def free_bytes(device: Torch) -> int:
    """Return the memory that could be allocated on a device now."""
    if device.type == "cuda":
        free, _ = import_torch().cuda.mem_get_info(device)
        return int(free)
    import psutil

    return int(psutil.virtual_memory().available)


def check_room(needed: int, device: Torch, *, limit: int | None = None, largest: int | None = None) -> None:
    """Raise MeasurementError where a step would not fit, before anything is allocated.

    ``limit`` is what a control group leaves to this process; ``largest`` the batch that would fit.
    """
    free = min(free_bytes(device), limit) if limit else free_bytes(device)
    if needed <= free:
        return
    hint = f"measure with --batch {largest}" if largest else "measure a smaller network, or predict it"
    raise MeasurementError(
        f"the step needs about {format_bytes(needed)} and {format_bytes(free)} are free on {device}",
        hint=hint,
    )


class PeakMemory:
    """The most a measurement holds above what the process held at the start; None where unknown."""

    def __init__(self, device: Torch) -> None:
        """Begin."""
        self.device = device
        self._start: int | None = None
        if device.type == "cuda":
            torch = import_torch()
            torch.cuda.reset_peak_memory_stats(device)
            self._start = int(torch.cuda.memory_allocated(device))
        elif _reset_peak():
            self._start = _status("VmRSS")

    def peak_bytes(self) -> int | None:
        """Return the most held since the start."""
        if self._start is None:
            return None
        if self.device.type == "cuda":
            return int(import_torch().cuda.max_memory_allocated(self.device)) - self._start
        peak = _status("VmHWM")
        return None if peak is None else max(0, peak - self._start)


def _reset_peak() -> bool:
    try:
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        text = _STATUS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * _KIB
    return None
