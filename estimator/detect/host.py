"""One call that looks at a whole host: processors, memory, accelerators, and what stayed unknown."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.detect.accelerators import read_accelerators
from estimator.detect.assemble import assemble
from estimator.detect.cgroup import read_cgroup
from estimator.detect.cpu_linux import read_linux_cpu
from estimator.detect.cpu_macos import macos_memory, macos_reading, sysctl
from estimator.detect.cpu_windows import windows_memory, windows_reading
from estimator.detect.facts import HostFacts
from estimator.detect.last_resort import fill_unknown
from estimator.detect.ledger import Ledger
from estimator.detect.memory import read_memory
from estimator.detect.nvml import injected_binding
from estimator.detect.recording import load_recording
from estimator.detect.seams import Seams, run_command
from estimator.detect.tree import DiskTree
from estimator.detect.visible import apply_masks
from estimator.detect.windows_api import WindowsApi, live_windows
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.facts import CpuFacts, MemoryFacts
    from estimator.detect.nvml import NvmlLike
    from estimator.detect.reading import CpuReading
    from estimator.detect.seams import Runner

_LIVE = Path("/")
_SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "windows", "cygwin": "windows"}


def detect_host(
    *,
    root: Path = _LIVE,
    environ: Mapping[str, str] | None = None,
    nvml: NvmlLike | None = None,
    run: Runner | None = None,
    windows: WindowsApi | None = None,
    system: str | None = None,
) -> HostFacts:
    """Return what can be learned about a host; what cannot is None with a finding, never an exception.

    Raises InputError only for a ``root`` that is not there or is no host record.

    ``root`` is ``/``, a copy of another host's ``/proc`` and ``/sys``, or a file that ``doctor`` wrote;
    ``nvml`` anything with the functions of ``pynvml`` (default: the installed one, on the live host only).
    """
    return detect_with(
        open_seams(root=root, environ=environ, nvml=nvml, run=run, windows=windows, system=system)
    )


def open_seams(
    *,
    root: Path = _LIVE,
    environ: Mapping[str, str] | None = None,
    nvml: NvmlLike | None = None,
    run: Runner | None = None,
    windows: WindowsApi | None = None,
    system: str | None = None,
) -> Seams:
    """Return where to read from: the live host's seams, or only those given for a recorded one.

    Raises InputError for a ``root`` that is not there or a record that cannot be read.
    """
    if root.is_file():
        return load_recording(root).seams(environ=environ, nvml=nvml)
    live = root == _LIVE
    if not root.is_dir():
        raise InputError(
            f"there is no directory or host record {root}",
            hint="give a copy of another host's /proc and /sys, or a file that `estimator doctor` wrote",
        )
    here = _SYSTEMS.get(sys.platform, "linux")
    injected = injected_binding()
    if environ is None:
        # Another host's files say nothing about this shell's masks, unless its GPUs were put in here too.
        environ = os.environ if live or injected is not None else {}
    return Seams(
        tree=DiskTree(root),
        environ=environ,
        nvml=nvml if nvml is not None else injected,
        run=run or (run_command if live else None),
        windows=windows or (live_windows() if live and here == "windows" else None),
        system=system or (here if live else "linux"),
        live=live,
        cpu_count=_cpu_count() if live else None,
        affinity=_affinity() if live else None,
    )


def _cpu_count() -> int | None:
    """Return the CPUs the scheduler leaves to this process."""
    affinity = _affinity()
    return len(affinity) if affinity else os.cpu_count()


def _affinity() -> frozenset[int] | None:
    """Return the CPUs the scheduler leaves to this process, None where it does not tell."""
    ask = getattr(os, "sched_getaffinity", None)
    try:
        return frozenset(ask(0)) if ask else None
    except OSError:
        return None


def detect_with(seams: Seams) -> HostFacts:
    """Return what can be learned through the given seams."""
    ledger = Ledger()
    cpu, memory = _processors(seams, ledger)
    gpus = read_accelerators(seams, memory, ledger)
    visible, hidden = apply_masks(gpus, seams.environ, ledger)
    _thread_limits(seams.environ, ledger)
    return HostFacts(
        cpu=cpu,
        memory=memory,
        gpus=visible,
        hidden_gpus=hidden,
        findings=ledger.findings(),
        system=seams.system,
    )


def _processors(seams: Seams, ledger: Ledger) -> tuple[CpuFacts, MemoryFacts]:
    of_cpu, of_memory = Ledger(), Ledger()
    if seams.system == "darwin":
        values = sysctl(seams)
        reading = macos_reading(values, of_cpu)
        memory = macos_memory(values, of_memory)
    elif seams.system == "windows":
        api = seams.windows or WindowsApi()
        reading = windows_reading(api, of_cpu)
        memory = windows_memory(api, of_memory)
    else:
        limits = read_cgroup(seams.tree, of_cpu)
        reading = read_linux_cpu(seams.tree, limits, of_cpu, seams.affinity)
        memory = read_memory(seams.tree, limits, of_memory)
    cpu = assemble(_complete(reading, seams, of_cpu), of_cpu)
    for found in of_cpu.findings() + of_memory.findings():
        ledger.finding(found.what, found.why, found.remedy)
    return cpu, memory


def _complete(reading: CpuReading, seams: Seams, ledger: Ledger) -> CpuReading:
    """Return the reading, with slower or coarser sources asked where the system's own told nothing."""
    if seams.live and not reading.flags and reading.family is None and reading.model_name is None:
        reading = fill_unknown(reading, seams, ledger)
    if reading.threads is None and seams.cpu_count:
        ledger.source("threads", "the scheduler's count for this process")
        return replace(reading, threads=seams.cpu_count, allowed_count=seams.cpu_count)
    return reading


def _thread_limits(environ: Mapping[str, str], ledger: Ledger) -> None:
    """Say that a variable makes frameworks use fewer threads than there are CPUs."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        value = environ.get(variable, "")
        if value.isdigit():
            ledger.finding(
                f"frameworks on this CPU use {value} thread{'s' if value != '1' else ''}",
                f"{variable}={value}",
                f"unset {variable} to use all CPUs",
            )
