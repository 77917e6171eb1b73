"""What else happened on the machine while it was measured: other work, stolen time, clocks, throttling."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.measure.statistics import Times

_BUSY_CPUS = 0.2  # CPUs that others kept busy
_STOLEN = 0.02  # of the CPUs' time, taken by the hypervisor
_CLOCK_CHANGE = 0.05
_SPREAD = 0.15
_DRIFT = 0.07
_FEWEST_FOR_DRIFT = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The machine's counters at one time: CPU seconds by the system and by this process, clocks."""

    at_s: float
    busy_s: float
    stolen_s: float
    own_s: float
    clock_hz: float | None
    throttled: tuple[str, ...]
    cpus: int


def moment(gpu_index: int | None = None) -> Moment:
    """Read the counters."""
    import psutil

    total = psutil.cpu_times()
    idle = total.idle + getattr(total, "iowait", 0.0)
    stolen = float(getattr(total, "steal", 0.0))
    own = os.times()
    clock = _cpu_clock(psutil) if gpu_index is None else None
    return Moment(
        at_s=time.perf_counter(),
        busy_s=float(sum(total) - idle - stolen - getattr(total, "guest", 0.0)),
        stolen_s=stolen,
        own_s=own.user + own.system + own.children_user + own.children_system,
        clock_hz=clock,
        throttled=() if gpu_index is None else throttle_reasons(gpu_index),
        cpus=psutil.cpu_count() or 1,
    )


def _cpu_clock(psutil: Any) -> float | None:  # noqa: ANN401 - a module
    try:
        found = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    return float(found.current) * 1e6 if found and found.current else None


_REASONS = {
    "nvmlClocksThrottleReasonSwPowerCap": "power limit",
    "nvmlClocksThrottleReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "temperature",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "temperature",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power brake",
}


def throttle_reasons(index: int) -> tuple[str, ...]:
    """Return why a GPU's clock is held back just now, as its driver says; empty where it says nothing."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        mask = int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    except Exception:  # noqa: BLE001 - no driver, no right, an old library: nothing is known then
        return ()
    return tuple(
        dict.fromkeys(word for name, word in _REASONS.items() if mask & int(getattr(pynvml, name, 0)))
    )


def warnings_of(
    before: Moment, after: Moment, steps_s: Sequence[float], times: Times, *, processes: int = 1
) -> tuple[str, ...]:
    """Return what may have disturbed the measurement; ``processes`` of a group are not other work."""
    elapsed = max(after.at_s - before.at_s, 1e-9)
    others = (after.busy_s - before.busy_s - processes * (after.own_s - before.own_s)) / elapsed
    stolen = (after.stolen_s - before.stolen_s) / elapsed / before.cpus
    said = []
    if others > _BUSY_CPUS:
        said.append(f"other work kept {others:.1f} of {before.cpus} CPUs busy: measured times are too long")
    if stolen > _STOLEN:
        said.append(f"the hypervisor took {100 * stolen:.0f} % of the CPUs' time away")
    if before.clock_hz and after.clock_hz and abs(after.clock_hz / before.clock_hz - 1) > _CLOCK_CHANGE:
        said.append(
            f"the CPU's clock went from {before.clock_hz / 1e9:.2f} to {after.clock_hz / 1e9:.2f} GHz"
        )
    reasons = tuple(dict.fromkeys((*before.throttled, *after.throttled)))
    if reasons:
        said.append(f"the GPU's clock was held back: {', '.join(reasons)}")
    if times.spread > _SPREAD:
        said.append(f"steps varied by {100 * times.spread:.0f} % of their median (p10 to p90)")
    drift = _drift(steps_s)
    if abs(drift) > _DRIFT:
        word = "slower" if drift > 0 else "faster"
        said.append(
            f"steps became {100 * abs(drift):.0f} % {word} from the first third to the last: "
            "heat, a power limit or other load"
        )
    return tuple(said)


def _drift(steps_s: Sequence[float]) -> float:
    """Return by how much the last third of the steps is slower than the first."""
    if len(steps_s) < _FEWEST_FOR_DRIFT:
        return 0.0
    third = len(steps_s) // 3
    first, last = sorted(steps_s[:third])[third // 2], sorted(steps_s[-third:])[third // 2]
    return last / first - 1
