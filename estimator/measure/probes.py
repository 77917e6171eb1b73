"""Short measurements of this machine, under two seconds in all: clock, matrix rate, memory bandwidth."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.provenance import Basis, Finding, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # Runs the worker on an order in an environment; its answer, or a text that says what went wrong.
    WorkerRunner = Callable[[Mapping[str, Any], Mapping[str, str]], Mapping[str, Any] | str]

_WORKER = Path(__file__).with_name("probe_worker.py")
_CLOCK_BUDGET_S, _RATE_BUDGET_S, _LEAST_BUDGET_S = 0.1, 0.5, 0.1
# All workers together stay below two seconds; one takes about so long to start and to touch its arrays.
_ALL_S, _START_S = 1.9, 0.4
_DEADLINE_S = 20.0
_MIB = 1 << 20
# Each thread count a library may read; a worker gets all of them alike.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip
# Above this spread between the middle and the best of the repetitions, something else is running here.
NOISY = 0.10
_PROVENANCE = Provenance("probe", Basis.MEASURED_HERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A rate in base units: the best of the repetitions, which nothing disturbed, and where the middle lies.

    ``low`` is the median and ``high`` the best; on a quiet machine the two agree within `NOISY`.
    """

    value: float
    low: float
    high: float
    repetitions: int
    provenance: Provenance = _PROVENANCE

    @property
    def noisy(self) -> bool:
        """Whether other work on this machine disturbed the measurement."""
        return self.low < (1 - NOISY) * self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuProbe:
    """What the CPUs do, by measurement; None or a missing key is "could not be measured", with a finding.

    ``matrix_flop_per_s`` is keyed by (number format, threads), ``bandwidth_bytes_per_s`` by (``read``,
    ``copy`` or ``triad``, threads).
    """

    threads: int
    clock_hz: Measured | None = None
    all_threads_clock_hz: Measured | None = None
    matrix_flop_per_s: Mapping[tuple[str, int], Measured] = field(default_factory=dict)
    bandwidth_bytes_per_s: Mapping[tuple[str, int], Measured] = field(default_factory=dict)
    took_s: float = 0.0
    findings: tuple[Finding, ...] = ()


def usable_threads() -> int:
    """Return the CPUs the scheduler leaves to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def probe_cpu(
    *,
    threads: int | None = None,
    last_cache_bytes: int | None = None,
    memory_bytes: int | None = None,
    run: WorkerRunner | None = None,
    environ: Mapping[str, str] | None = None,
) -> CpuProbe:
    """Measure this machine with one and with ``threads`` threads (default: all that may be used).

    ``last_cache_bytes`` and ``memory_bytes`` bound the arrays of the bandwidth streams. Never raises:
    what could not be measured is a finding.
    """
    start = time.perf_counter()
    count = threads or usable_threads()
    environ = os.environ if environ is None else environ
    run = run or run_worker
    findings: list[Finding] = []
    clock = _ask(run, {"task": "clock", "threads": count, "budget_s": _CLOCK_BUDGET_S}, environ, findings)
    rates: dict[int, Mapping[str, Any]] = {}
    to_do, start_s = sorted({1, count}), _START_S
    for place, number in enumerate(to_do):
        asked = time.perf_counter()
        budget = _budget(asked - start, len(to_do) - place, start_s)
        order = {"task": "rates", "threads": number, "budget_s": budget,
                 "array_bytes": array_bytes(last_cache_bytes, memory_bytes)}  # fmt: skip
        rates[number] = _ask(run, order, _with_threads(environ, number), findings)
        start_s = max(time.perf_counter() - asked - budget, 0.0)
    probe = CpuProbe(
        threads=count,
        clock_hz=_measured(clock.get("one")),
        all_threads_clock_hz=_measured(clock.get("all")),
        matrix_flop_per_s=_table(rates, "matrix"),
        bandwidth_bytes_per_s=_table(rates, "stream"),
        took_s=time.perf_counter() - start,
    )
    return _with_findings(probe, findings, environ)


def _budget(spent_s: float, workers: int, start_s: float) -> float:
    """Return what the next of some workers may measure for, each of which takes a while to start."""
    left = (_ALL_S - spent_s) / workers - start_s
    return min(max(left, _LEAST_BUDGET_S), _RATE_BUDGET_S)


def array_bytes(last_cache_bytes: int | None, memory_bytes: int | None) -> int:
    """Return the size of one of the two stream arrays: past the caches, within a sixteenth of the memory.

    Both together are four times the last cache, 64 MiB at least and 256 MiB at most: a larger cache is
    that of a whole socket, which a short probe cannot get past.
    """
    wanted = max(2 * (last_cache_bytes or 0), 32 * _MIB)
    most = min(128 * _MIB, (memory_bytes or 16 * 128 * _MIB) // 16)
    return max(min(wanted, most), _MIB)


def run_worker(order: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, Any] | str:
    """Run the worker in a process of its own and return its answer, or what went wrong."""
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, str(_WORKER), json.dumps(dict(order))],
            capture_output=True, timeout=_DEADLINE_S, check=False, env=dict(environ), text=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return last[0]
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return "the probe's answer is not JSON"
    return answer if isinstance(answer, dict) else "the probe's answer is no mapping"


def _ask(
    run: WorkerRunner,
    order: Mapping[str, Any],
    environ: Mapping[str, str],
    findings: list[Finding],
) -> Mapping[str, Any]:
    answer = run(order, environ)
    error = answer if isinstance(answer, str) else answer.get("error")
    if error is None and not isinstance(answer, str):
        return answer
    what = "clock" if order["task"] == "clock" else f"rates with {order['threads']} threads"
    findings.append(
        Finding(
            what=f"the {what} could not be measured",
            why=str(error),
            remedy="specified figures are used instead",
        )
    )
    return {}


def _with_threads(environ: Mapping[str, str], threads: int) -> dict[str, str]:
    return {**environ, **dict.fromkeys(_THREAD_VARIABLES, str(threads))}


def _table(rates: Mapping[int, Mapping[str, Any]], part: str) -> dict[tuple[str, int], Measured]:
    found: dict[tuple[str, int], Measured] = {}
    for threads, answer in rates.items():
        lists = answer.get(part)
        for name, values in lists.items() if isinstance(lists, dict) else ():
            measured = _measured(values)
            if measured is not None:
                found[name, threads] = measured
    return found


def _measured(values: Sequence[float] | None) -> Measured | None:
    good = [float(v) for v in values or () if isinstance(v, (int, float)) and math.isfinite(v) and v > 0]
    if not good:
        return None
    return Measured(value=max(good), low=statistics.median(good), high=max(good), repetitions=len(good))


def _with_findings(probe: CpuProbe, findings: list[Finding], environ: Mapping[str, str]) -> CpuProbe:
    everything = [
        ("clock", probe.clock_hz), ("clock with all threads", probe.all_threads_clock_hz),
        *((f"{name} rate with {n} threads", m) for (name, n), m in probe.matrix_flop_per_s.items()),
        *((f"{name} bandwidth with {n} threads", m) for (name, n), m in probe.bandwidth_bytes_per_s.items()),
    ]  # fmt: skip
    noisy = [name for name, measured in everything if measured is not None and measured.noisy]
    if noisy:
        findings.append(
            Finding(
                what=f"the machine is busy: {', '.join(noisy)} varied by more than {NOISY:.0%}",
                why="other work ran at the same time, or the clock changed",
                remedy="probe again on a quiet machine; ranges are given until then",
            )
        )
    slower = _slower_together(probe)
    if slower:
        findings.append(
            Finding(
                what=f"all {probe.threads} threads together are slower than one: {', '.join(slower)}",
                why="other work holds the CPUs, or fewer of them can be used than the system shows",
                remedy="probe again on a quiet machine; these rates are too low",
            )
        )
    forced = environ.get("OPENBLAS_CORETYPE")
    if forced:
        findings.append(
            Finding(
                what=f"the matrix rate is that of OpenBLAS' kernels for {forced}",
                why=f"OPENBLAS_CORETYPE={forced} is set",
                remedy="unset it to measure the kernels that OpenBLAS would choose",
            )
        )
    return replace(probe, findings=tuple(findings))


def _slower_together(probe: CpuProbe) -> list[str]:
    """Return the rates that all threads together attain less of than one alone."""
    rates = [("products", probe.matrix_flop_per_s), ("bandwidth", probe.bandwidth_bytes_per_s)]
    return [
        f"{name} {what}"
        for what, table in rates
        for (name, threads), measured in table.items()
        if threads == 1
        and (together := table.get((name, probe.threads))) is not None
        and together.value < (1 - NOISY) * measured.value
    ]
