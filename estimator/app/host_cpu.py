"""From the facts about a host's processors to the CPU that can be predicted for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.app.host_clock import all_core_clock
from estimator.app.host_cores import architecture_of, pipes_assumed
from estimator.catalog.cpu_parts import limited_to, of_sockets
from estimator.catalog.match import match_detected
from estimator.detect.facts import CoreKind
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import CoreGroup, Device, derive_peaks
from estimator.provenance import Basis, Finding, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import CoreGroup as DetectedGroup
    from estimator.detect.facts import CpuFacts, HostFacts
    from estimator.hardware.architecture import Architecture

_GHZ = 1e9
_PROBE = "estimator detect --probe measures it"


def cpu_device(facts: HostFacts, findings: list[Finding]) -> Device | None:
    """Return the catalogue's CPU or one derived from what was detected, as far as this process may use it."""
    name = facts.cpu.model_name
    known = match_detected(name) if name else None
    if known is not None and known.kind is DeviceKind.CPU:
        return _known(known, facts, findings)
    return _derived(facts, findings)


def _known(known: Device, facts: HostFacts, findings: list[Finding]) -> Device:
    """Return the catalogue's CPU: all sockets, the cores of each kind that this process may use.

    A virtual machine gets some cores of a socket, but never is the socket's bandwidth its own.
    """
    cpu = facts.cpu
    whole = of_sockets(known, _sockets(cpu, known))
    fast, slow = _usable(cpu, CoreKind.PERFORMANCE), _usable(cpu, CoreKind.EFFICIENCY)
    if known.efficiency_cores is not None and fast is not None and slow is not None:
        device = limited_to(whole, fast, slow)
    else:
        device = limited_to(whole, cpu.usable_cores or whole.all_units)
    if cpu.virtualised and device is not whole:
        device = replace(device, bandwidth_bytes_per_s=None)
    if device is not whole:
        _tell_bandwidth(device, whole, cpu, findings)
    virtual = bool(cpu.virtualised)
    return replace(device, memory_bytes=facts.memory.usable_bytes, virtual=virtual, detected=True)


def _sockets(cpu: CpuFacts, known: Device) -> int:
    """Return the sockets in use; a virtual machine may call each of its cores a socket."""
    sockets = cpu.sockets or 1
    if not cpu.virtualised or not cpu.physical_cores:
        return sockets
    return min(sockets, max(1, -(-cpu.physical_cores // int(known.all_units))))


def _usable(cpu: CpuFacts, kind: CoreKind) -> float | None:
    """Return the usable cores of a kind, None where the groups do not tell."""
    usable = [group.usable_cores for group in cpu.groups if group.kind is kind]
    known = [cores for cores in usable if cores is not None]
    return sum(known) if known and len(known) == len(usable) else None


def _tell_bandwidth(device: Device, whole: Device, cpu: CpuFacts, findings: list[Finding]) -> None:
    """Say what the bandwidth of some of the cores rests on."""
    if whole.bandwidth_bytes_per_s is None:
        return
    part = f"{device.all_units:g} of {whole.all_units:g} cores"
    if device.bandwidth_bytes_per_s is None:
        why = (
            "a virtual machine shares the channels with others"
            if cpu.virtualised
            else ("so few cannot draw all that the channels have")
        )
        what, remedy = f"memory bandwidth of {part}", f"{_PROBE}; till then what the cores draw is the limit"
    else:
        what = f"memory bandwidth taken as that of all channels, for {part}"
        why, remedy = "what runs on the other cores shares it", _PROBE
    findings.append(Finding(what=what, why=why, remedy=remedy))


def _derived(facts: HostFacts, findings: list[Finding]) -> Device | None:
    """Return a CPU that the catalogue does not have: each kind of core with its own width and clock."""
    cpu = facts.cpu
    architecture = architecture_of(cpu, cpu.groups[0] if cpu.groups else None)
    clock_hz, known_by = all_core_clock(cpu, architecture)
    kinds = _kinds_of_core(cpu, architecture, clock_hz, findings)
    if not kinds:
        missing = "SIMD width" if architecture is None else "number of cores" if clock_hz else "clock"
        findings.append(
            Finding(
                what=f"no prediction for this CPU: its {missing} is not known",
                why="peak rates follow from cores, SIMD width, FMA pipes and clock",
                remedy="name a similar one with --device, or run estimator detect --probe",
            )
        )
        return None
    main, slow = kinds[0], kinds[1] if len(kinds) > 1 else None
    _tell_assumed(main, known_by, findings)
    return Device(
        id="this-cpu",
        name=cpu.model_name or main.architecture.name,
        vendor=cpu.vendor or "unknown",
        kind=DeviceKind.CPU,
        architecture=main.architecture,
        units=main.units,
        clock_hz=main.clock_hz,
        peaks=derive_peaks(main.architecture, main.units, main.clock_hz, efficiency_cores=slow),
        base_clock_hz=cpu.base_clock_hz,
        efficiency_cores=slow,
        threads=cpu.threads,
        sockets=cpu.sockets or 1,
        memory_bytes=facts.memory.usable_bytes,
        virtual=bool(cpu.virtualised),
        cache_bytes=_caches(cpu),
        detected=True,
        provenance={
            "units": Provenance("cores usable by this process", Basis.DETECTED),
            "clock_hz": known_by,
            "memory_bytes": Provenance("kernel", Basis.DETECTED),
            "peaks": Provenance("cores x FMA a clock x 2 x clock", Basis.DERIVED),
        },
    )


def _kinds_of_core(
    cpu: CpuFacts, architecture: Architecture | None, clock_hz: float | None, findings: list[Finding]
) -> list[CoreGroup]:
    """Return at most two kinds of core that this process may use, the fast ones first."""
    if len(cpu.groups) < 2:  # noqa: PLR2004 - two kinds make a hybrid
        cores = cpu.usable_cores or cpu.physical_cores
        fast = _kind(architecture, cores, clock_hz)
        return [fast] if fast is not None else []
    usable = [group for group in cpu.groups if group.usable_cores != 0]
    kinds: list[CoreGroup] = []
    left_out = 0
    for group in usable:
        cores = group.physical_cores if group.usable_cores is None else group.usable_cores
        kind = _kind(architecture_of(cpu, group), cores, _clock_of(group, cpu, clock_hz))
        if kind is None or len(kinds) == 2:  # noqa: PLR2004 - as above
            left_out += group.physical_cores
        else:
            kinds.append(kind)
    if kinds and left_out:
        findings.append(
            Finding(
                what=f"{left_out} cores of another kind are not counted",
                why="their clock or SIMD width is not known, or they are of a third kind",
                remedy="estimator detect --probe shows the rate of all cores",
            )
        )
    return kinds


def _kind(architecture: Architecture | None, cores: float | None, clock_hz: float | None) -> CoreGroup | None:
    if architecture is None or not cores or not clock_hz:
        return None
    return CoreGroup(architecture=architecture, units=cores, clock_hz=clock_hz)


def _clock_of(group: DetectedGroup, cpu: CpuFacts, clock_hz: float | None) -> float | None:
    """Return a group's clock with all busy: its kind slows down as the fastest does, by the same share."""
    if group is cpu.groups[0]:
        return clock_hz
    if not group.max_clock_hz or not cpu.max_clock_hz or not clock_hz:
        return None
    return min(group.max_clock_hz, cpu.max_clock_hz) * clock_hz / cpu.max_clock_hz


def _tell_assumed(main: CoreGroup, known_by: Provenance, findings: list[Finding]) -> None:
    """Say which of the factors of the peaks are assumed."""
    if known_by.basis is Basis.ASSUMED:
        findings.append(
            Finding(
                what=f"its cores are taken to run at {main.clock_hz / _GHZ:.2f} GHz",
                why=known_by.note,
                remedy=_PROBE,
            )
        )
    if pipes_assumed(main.architecture):
        findings.append(
            Finding(
                what=f"its cores are taken to have one {main.architecture.simd_bits}-bit FMA pipe",
                why="CPUID does not tell the number, and no figure is recorded for this one",
                remedy="estimator detect --probe shows it: the attained matrix rate",
            )
        )


def _caches(cpu: CpuFacts) -> dict[str, int]:
    """Return bytes of one instance by level, as device profiles have them."""
    return {
        f"l{cache.level}" if cache.level > 1 else "l1d": cache.size_bytes
        for cache in cpu.caches
        if cache.kind.lower() != "instruction"
    }
