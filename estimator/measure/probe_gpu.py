"""What launching a kernel costs on this machine's GPU, measured through PyTorch."""

from __future__ import annotations

import importlib
import statistics
import time
from typing import TYPE_CHECKING, Any

from estimator.measure.probes import Measured
from estimator.provenance import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

_LAUNCHES, _REPETITIONS, _WARM_UP = 500, 7, 100


def probe_launch(
    *,
    torch: Any = None,  # noqa: ANN401 - the module or a stand-in
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Measured | None, tuple[Finding, ...]]:
    """Return the seconds from one eager kernel launch to the next, or None with the reason.

    The kernels are too short to fill the time, so what is measured is the host's side of a launch. The
    value is the least of the repetitions, ``low`` it and ``high`` their median: a time, not a rate.
    """
    if torch is None:
        try:
            torch = importlib.import_module("torch")
        except ImportError as error:
            broken = not isinstance(error, ModuleNotFoundError)
            why = f"PyTorch cannot be imported: {_line(error)}" if broken else "PyTorch is not installed"
            return None, (_absent(why, "pip install 'estimator[torch]'"),)
        except OSError as error:  # a library of its own that the loader does not find
            why = f"PyTorch cannot be imported: {_line(error)}"
            return None, (_absent(why, "install it anew"),)
    try:
        if not torch.cuda.is_available():
            return None, (_absent("PyTorch finds no GPU", "install the PyTorch build for this GPU"),)
        times = _time_launches(torch, clock)
    except (RuntimeError, AssertionError, OSError) as error:
        return None, (_absent(_line(error), "check the driver and the PyTorch build"),)
    return (
        Measured(value=min(times), low=min(times), high=statistics.median(times), repetitions=len(times)),
        (),
    )


def _time_launches(torch: Any, clock: Callable[[], float]) -> list[float]:  # noqa: ANN401 - as above
    number = torch.zeros(1, device="cuda")
    for _ in range(_WARM_UP):
        number.add_(1)
    torch.cuda.synchronize()
    times = []
    for _ in range(_REPETITIONS):
        start = clock()
        for _ in range(_LAUNCHES):
            number.add_(1)
        torch.cuda.synchronize()
        times.append((clock() - start) / _LAUNCHES)
    return times


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _absent(why: str, remedy: str) -> Finding:
    return Finding(what="the cost of a kernel launch could not be measured", why=why, remedy=remedy)
