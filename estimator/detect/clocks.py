"""The clocks of a Linux host's cores: what the firmware promises, not what the time-stamp counter ticks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.topology import CPU_DIRECTORY
from estimator.provenance import Basis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.cpuinfo import CpuInfo
    from estimator.detect.ledger import Ledger
    from estimator.detect.tree import Tree

_KHZ, _MHZ, _GHZ = 1e3, 1e6, 1e9
# Outside of this no core runs: a corrupt file, or a placeholder.
LOWEST_HZ, HIGHEST_HZ = 50e6, 10e9
_NAME_GHZ = re.compile(r"@\s*([0-9]+(?:\.[0-9]+)?)\s*GHz|CPU\s+([0-9]+(?:\.[0-9]+)?)\s*GHz", re.IGNORECASE)


class Clocks(NamedTuple):
    """Clocks in Hz: guaranteed, highest single-core, now, and the time-stamp counter's in a VM."""

    base_hz: float | None = None
    max_hz: float | None = None
    current_hz: float | None = None
    tsc_hz: float | None = None
    max_by_cpu: Mapping[int, float] = {}


def plausible(hz: float | None) -> float | None:
    """Return the clock if a core can run at it, else None."""
    return hz if hz is not None and LOWEST_HZ <= hz <= HIGHEST_HZ else None


def clock_in_name(model_name: str | None) -> float | None:
    """Return the base clock in a model name (``... @ 2.60GHz``, ``Pentium(R) D CPU 3.20GHz``) in Hz."""
    match = _NAME_GHZ.search(model_name or "")
    return plausible(float(match[1] or match[2]) * _GHZ) if match else None


def parse_mhz(text: str | None) -> float | None:
    """Return Hz of ``2596.138`` or ``3500.000000MHz``, None where it is no clock of a core."""
    match = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{0,9})?)\s*(?:MHz)?", (text or "").strip(), re.IGNORECASE)
    return plausible(float(match[1]) * _MHZ) if match else None


def read_clocks(
    tree: Tree, info: CpuInfo, online: frozenset[int], *, virtualised: bool | None, ledger: Ledger
) -> Clocks:
    """Return the clocks of the online CPUs; unknown ones are None with a finding."""
    max_by_cpu = {cpu: hz for cpu in online if (hz := _file_hz(tree, cpu, "cpufreq/cpuinfo_max_freq"))}
    max_hz = max(max_by_cpu.values(), default=None)
    base_hz = _base(tree, info, online, ledger)
    if max_hz is not None:
        ledger.source("max_clock_hz", "cpufreq/cpuinfo_max_freq")
        max_hz = _held_down(tree, online, max_hz, base_hz, ledger)
    shown = [hz for cpu in info.records if (hz := parse_mhz(_shown_mhz(info, cpu)))]
    if virtualised and max_hz is None:
        return _virtual(base_hz, max(shown, default=None), ledger)
    current = max(shown, default=None)
    if current is not None:
        ledger.source("current_clock_hz", "/proc/cpuinfo")
    if max_hz is None:
        _unknown(
            ledger, "there is no cpufreq directory and the processor's name tells at most its base clock"
        )
    return Clocks(base_hz, max_hz, current, None, max_by_cpu)


def _shown_mhz(info: CpuInfo, cpu: int) -> str | None:
    return info.get("cpu MHz", cpu) or info.get("clock", cpu) or info.get("cpu MHz dynamic", cpu)


def _file_hz(tree: Tree, cpu: int, name: str) -> float | None:
    khz = tree.positive(f"{CPU_DIRECTORY}/cpu{cpu}/{name}")
    return plausible(khz * _KHZ) if khz else None


def _base(tree: Tree, info: CpuInfo, online: frozenset[int], ledger: Ledger) -> float | None:
    """Return the guaranteed clock: intel_pstate's, CPPC's nominal one (in MHz), or the one in the name."""
    first = min(online, default=0)
    listed = [hz for cpu in online if (hz := _file_hz(tree, cpu, "cpufreq/base_frequency"))]
    if listed:
        ledger.source("base_clock_hz", "cpufreq/base_frequency")
        return max(listed)
    nominal = tree.positive(f"{CPU_DIRECTORY}/cpu{first}/acpi_cppc/nominal_freq")
    if nominal and plausible(nominal * _MHZ):
        ledger.source("base_clock_hz", "acpi_cppc/nominal_freq")
        return nominal * _MHZ
    named = clock_in_name(info.get("model name"))
    if named is not None:
        ledger.source("base_clock_hz", "the processor's name")
    return named


def _held_down(
    tree: Tree, online: frozenset[int], max_hz: float, base_hz: float | None, ledger: Ledger
) -> float:
    """Return the highest clock that the running policy allows."""
    policy = [hz for cpu in online if (hz := _file_hz(tree, cpu, "cpufreq/scaling_max_freq"))]
    no_turbo = tree.integer(f"{CPU_DIRECTORY}/intel_pstate/no_turbo") == 1
    no_boost = tree.integer(f"{CPU_DIRECTORY}/cpufreq/boost") == 0
    limit = max(policy, default=max_hz)
    if (no_turbo or no_boost) and base_hz:
        limit = min(limit, base_hz)
    if limit >= max_hz:
        return max_hz
    ledger.finding(
        f"clock held at {limit / _GHZ:.2f} GHz, the processor can do {max_hz / _GHZ:.2f}",
        "the power policy (scaling_max_freq, no_turbo or boost) limits it",
        "choose the performance policy before a long run",
    )
    return limit


def _virtual(base_hz: float | None, shown: float | None, ledger: Ledger) -> Clocks:
    if shown is not None:
        ledger.source(
            "tsc_clock_hz",
            "/proc/cpuinfo (cpu MHz)",
            basis=Basis.DETECTED,
            note="the time-stamp counter's rate",
        )
    _unknown(ledger, "a virtual machine shows the rate of the time-stamp counter instead")
    return Clocks(base_hz, None, None, shown)


def _unknown(ledger: Ledger, why: str) -> None:
    ledger.finding(
        "clock of the cores not known",
        why,
        "run `estimator detect --probe`: it measures the clock in a fraction of a second",
    )
