"""From what an operating system shows to the facts about the processors: cores, vectors, lanes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.detect.facts import CoreGroup, CoreKind, CpuFacts
from estimator.detect.identify import identify
from estimator.detect.simd import shown_flags, vectors
from estimator.detect.uarch_facts import MICROARCHITECTURES
from estimator.detect.uarch_ids import ARM_PARTS, ARM_VENDORS, VENDORS
from estimator.provenance import Basis

if TYPE_CHECKING:
    from estimator.detect.identify import Identity
    from estimator.detect.ledger import Ledger
    from estimator.detect.reading import CoreReading, CpuReading
    from estimator.detect.simd import Vectors
    from estimator.detect.uarch_facts import Microarchitecture

_AMX = frozenset({"amx_tile", "amx_bf16", "amx_int8"})
# One module of these is one "core" with two "threads" to newer kernels: it then has both its pipes.
_MODULES = frozenset({"bulldozer", "piledriver", "steamroller", "excavator"})


def assemble(reading: CpuReading, ledger: Ledger) -> CpuFacts:
    """Return the facts about the processors; everything unknown is None and has a finding."""
    identity = identify(reading, ledger)
    usable = _usable_cpus(reading, ledger)
    usable_cores = _usable_cores(reading, usable)
    groups = _with_usable(_groups(reading, identity, ledger), usable_cores)
    main = _main_group(groups)
    design = identity.performance
    basic = _vectors(design, reading, ledger)
    part = next((core.part for core in reading.cores if core.part), None)
    physical = reading.physical_cores
    _note_sources(design, reading, ledger)
    return CpuFacts(
        architecture=reading.architecture,
        model_name=reading.model_name or ((_designs(groups) or _arm_title(part)) if part else None),
        vendor=_vendor(reading, part),
        family=reading.family,
        model=reading.model,
        stepping=reading.stepping,
        implementer=part[0] if part else None,
        part=part[1] if part else None,
        microarchitecture=design.id if design else None,
        microarchitecture_name=design.name if design else None,
        sockets=reading.sockets,
        physical_cores=physical,
        threads=reading.threads,
        threads_per_core=_threads_per_core(reading),
        groups=groups,
        numa_nodes=reading.numa_nodes,
        simd_bits=basic.simd_bits,
        register_bits=basic.register_bits,
        fma_pipes=main.fma_pipes if main else basic.fma_pipes,
        has_fma=basic.has_fma,
        matrix_unit=_matrix_unit(design, reading.flags),
        isa=shown_flags(reading.flags),
        lanes=_lanes(groups),
        base_clock_hz=reading.base_clock_hz,
        max_clock_hz=reading.max_clock_hz,
        current_clock_hz=reading.current_clock_hz,
        tsc_clock_hz=reading.tsc_clock_hz,
        caches=reading.caches,
        online_cpus=tuple(sorted(reading.online_cpus)),
        allowed_cpus=tuple(sorted(reading.allowed_cpus)),
        quota_cpus=reading.quota_cpus,
        cpu_shares=reading.cpu_shares,
        usable_cpus=usable,
        usable_cores=usable_cores,
        virtualised=reading.virtualised,
        provenance=ledger.provenance(),
    )


def _note_sources(design: Microarchitecture | None, reading: CpuReading, ledger: Ledger) -> None:
    """Note where the facts come from that no single file holds."""
    if design is not None and design.source:
        for fact in ("simd_bits", "fma_pipes", "lanes"):
            ledger.source(fact, design.source, basis=Basis.OPEN_TABLE, note=f"one {design.name} core")
    if reading.flags:
        ledger.source("register_bits", "instruction sets the processor shows")
    if reading.caches:
        ledger.source("caches", "the operating system's list of caches")
    ledger.source("usable_cpus", "least of affinity, cpuset and quota", basis=Basis.DERIVED)


def _vectors(design: Microarchitecture | None, reading: CpuReading, ledger: Ledger) -> Vectors:
    return vectors(
        design, reading.flags, sve_bits=reading.sve_bits, model_name=reading.model_name, ledger=ledger
    )


def _groups(reading: CpuReading, identity: Identity, ledger: Ledger) -> tuple[CoreGroup, ...]:
    """Return the cores by kind, performance first."""
    if not reading.cores:
        return ()
    if identity.efficiency is not None and len(reading.cores) == 1 and reading.cores[0].part is None:
        _mix_unknown(reading, identity, ledger)
        return ()
    groups = []
    for core in reading.cores:
        design = _design_of(core, identity)
        kind = core.kind or _kind(design)
        groups.append(_group(core, kind, design, _vectors(design, reading, ledger)))
    return tuple(sorted(groups, key=lambda group: group.kind is not CoreKind.PERFORMANCE))


def _group(core: CoreReading, kind: CoreKind, design: Microarchitecture | None, vector: Vectors) -> CoreGroup:
    per_module = 2 if design and design.id in _MODULES and core.threads == 2 * core.physical_cores else 1
    pipes = vector.fma_pipes * per_module if vector.fma_pipes is not None else None
    lanes = vector.lanes_per_core * per_module if vector.lanes_per_core is not None else None
    return CoreGroup(
        kind=kind,
        physical_cores=core.physical_cores,
        threads=core.threads,
        usable_cores=core.allowed_cores,
        microarchitecture=design.id if design else None,
        microarchitecture_name=design.name if design else None,
        simd_bits=vector.simd_bits,
        fma_pipes=pipes,
        lanes_per_core=lanes,
        max_clock_hz=core.max_clock_hz,
    )


def _with_usable(groups: tuple[CoreGroup, ...], usable_cores: float | None) -> tuple[CoreGroup, ...]:
    """Return the groups with the cores that this process can keep busy, performance cores first.

    A quota is time on any core, and schedulers start on the fast ones.
    """
    if usable_cores is None:
        return groups
    shared, left = [], usable_cores
    for group in groups:
        allowed = group.physical_cores if group.usable_cores is None else group.usable_cores
        cores = min(float(allowed), left)
        shared.append(replace(group, usable_cores=cores))
        left -= cores
    return tuple(shared)


def _design_of(core: CoreReading, identity: Identity) -> Microarchitecture | None:
    if core.part is not None:
        return MICROARCHITECTURES.get(ARM_PARTS.get(core.part, ""))
    return identity.efficiency if core.kind is CoreKind.EFFICIENCY else identity.performance


def _kind(design: Microarchitecture | None) -> CoreKind:
    return CoreKind.EFFICIENCY if design and design.efficiency else CoreKind.PERFORMANCE


def _main_group(groups: tuple[CoreGroup, ...]) -> CoreGroup | None:
    return groups[0] if groups else None


def _mix_unknown(reading: CpuReading, identity: Identity, ledger: Ledger) -> None:
    large, small = identity.performance, identity.efficiency
    count = f"{reading.physical_cores} cores" if reading.physical_cores else "cores"
    ledger.finding(
        f"which of the {count} are performance and which efficiency cores is not known",
        f"{large.name if large else 'it'} is sold with {small.name if small else 'other'} cores, "
        "and nothing here tells them apart (a virtual machine hides it)",
        "run the probe: the attained rates show it",
    )


def _lanes(groups: tuple[CoreGroup, ...]) -> int | None:
    lanes = [g.lanes_per_core * g.physical_cores for g in groups if g.lanes_per_core is not None]
    return sum(lanes) if lanes and len(lanes) == len(groups) else None


def _matrix_unit(design: Microarchitecture | None, flags: frozenset[str]) -> str | None:
    """Name the matrix unit: by flag where the architecture shows one, else by design."""
    if flags & _AMX:
        return "amx"
    if "sme" in flags:
        return "sme"
    # A hypervisor that hides AMX from the flags hides it from the frameworks too.
    return design.matrix_unit if design and not design.isa else None


def _vendor(reading: CpuReading, part: tuple[int, int] | None) -> str | None:
    if part:
        return ARM_VENDORS.get(part[0])
    return VENDORS.get(reading.vendor or "", reading.vendor)


def _designs(groups: tuple[CoreGroup, ...]) -> str | None:
    """Return the names of all kinds of core, the fastest first: ``Cortex-A76 + Cortex-A55``."""
    names = dict.fromkeys(group.microarchitecture_name for group in groups)
    return " + ".join(name for name in names if name) or None


def _arm_title(part: tuple[int, int]) -> str | None:
    design = MICROARCHITECTURES.get(ARM_PARTS.get(part, ""))
    return design.name if design else None


def _threads_per_core(reading: CpuReading) -> int | None:
    if not reading.threads or not reading.physical_cores:
        return None
    return -(-reading.threads // reading.physical_cores)


def _usable_cpus(reading: CpuReading, ledger: Ledger) -> float | None:
    """Return logical CPUs this process can keep busy: the least of affinity, cpuset and quota."""
    counts = [float(n) for n in (reading.allowed_count, reading.threads) if n]
    if reading.quota_cpus is not None:
        counts.append(reading.quota_cpus)
    if not counts:
        ledger.finding(
            "number of CPUs not known",
            "neither /proc/cpuinfo nor /sys/devices/system/cpu lists any",
            "run where /proc is mounted, or name the processor with --device",
        )
    return min(counts, default=None)


def _usable_cores(reading: CpuReading, usable: float | None) -> float | None:
    """Return physical cores behind the usable CPUs: two threads of one core are one core."""
    if usable is None:
        return None
    cores = reading.allowed_cores or reading.physical_cores
    return min(usable, float(cores)) if cores else None
