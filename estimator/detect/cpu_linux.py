"""The processors of a Linux host, from /proc and /sys."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from estimator.detect.caches import read_caches
from estimator.detect.clocks import read_clocks
from estimator.detect.cpuinfo import parse_cpuinfo
from estimator.detect.cpulist import parse_cpu_list, write_cpu_list
from estimator.detect.facts import CoreKind
from estimator.detect.reading import CoreReading, CpuReading
from estimator.detect.topology import numa_nodes, read_topology
from estimator.detect.uarch_facts import MICROARCHITECTURES
from estimator.detect.uarch_ids import ARM_PARTS
from estimator.detect.virtual import is_virtual

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from estimator.detect.cgroup import CgroupLimits
    from estimator.detect.cpuinfo import CpuInfo
    from estimator.detect.ledger import Ledger
    from estimator.detect.topology import Topology
    from estimator.detect.tree import Tree

_BITS_A_BYTE = 8
_MAX_SVE_BYTES = 256
# Favoured cores of one kind differ by a few per cent, kinds by more.
_SLOWER_KIND = 0.88
_POWER = re.compile(r"POWER([0-9]+)", re.IGNORECASE)


def read_linux_cpu(
    tree: Tree, limits: CgroupLimits, ledger: Ledger, scheduled: frozenset[int] | None = None
) -> CpuReading:
    """Return what Linux shows of its processors; ``scheduled`` are the CPUs its scheduler names, if asked."""
    info = parse_cpuinfo(tree.text("/proc/cpuinfo"))
    topology = read_topology(tree, info, ledger)
    online = topology.online
    virtual = is_virtual(tree, info)
    clocks = read_clocks(tree, info, online, virtualised=virtual, ledger=ledger)
    masks = (("affinity", _affinity(tree)), ("scheduler's affinity", scheduled), ("cpuset", limits.cpuset))
    allowed = _allowed(masks, online, ledger)
    flags = info.words("flags", "Features")
    cores = _cores(tree, info, topology, clocks.max_by_cpu, allowed)
    return CpuReading(
        architecture=_architecture(info, flags),
        model_name=_model_name(tree, info),
        vendor=info.get("vendor_id"),
        family=info.number("cpu family"),
        model=info.number("model"),
        stepping=info.number("stepping"),
        design=_design(info),
        flags=flags,
        sve_bits=_sve_bits(tree, flags),
        sockets=_sockets(topology, cores),
        cores=cores,
        physical_cores=topology.physical_cores,
        threads=len(online) or None,
        numa_nodes=numa_nodes(tree, online),
        caches=read_caches(tree, online),
        base_clock_hz=clocks.base_hz,
        max_clock_hz=clocks.max_hz,
        current_clock_hz=clocks.current_hz,
        tsc_clock_hz=clocks.tsc_hz,
        online_cpus=online,
        allowed_cpus=allowed,
        allowed_cores=len({topology.core_of[cpu] for cpu in allowed if cpu in topology.core_of}) or None,
        allowed_count=_allowed_count(allowed, info),
        quota_cpus=limits.quota_cpus,
        cpu_shares=limits.cpu_shares,
        virtualised=virtual,
    )


def _allowed_count(allowed: frozenset[int], info: CpuInfo) -> int | None:
    """Return the least of the CPUs allowed and those that (lxcfs') cpuinfo admits to."""
    counts = [count for count in (len(allowed), len(info.records)) if count]
    return min(counts, default=None)


def _allowed(
    masks: Iterable[tuple[str, frozenset[int] | None]], online: frozenset[int], ledger: Ledger
) -> frozenset[int]:
    """Return the online CPUs that affinity and cpuset leave to this process."""
    allowed = online
    for name, cpus in masks:
        if not cpus:
            continue
        if allowed and not cpus & allowed:
            ledger.finding(
                f"the {name} names only CPUs that are not online ({write_cpu_list(cpus)})",
                f"online are {write_cpu_list(online)}: the copy of one of the two is stale",
                "counted as many as the list names",
            )
        else:
            ledger.source("allowed_cpus", f"{name} and the CPUs online")
        allowed = cpus & allowed or cpus
    return allowed


def _affinity(tree: Tree) -> frozenset[int] | None:
    for line in (tree.text("/proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            return parse_cpu_list(value)
    return None


def _cores(
    tree: Tree, info: CpuInfo, topology: Topology, max_by_cpu: Mapping[int, float], allowed: frozenset[int]
) -> tuple[CoreReading, ...]:
    """Return the cores by kind: Arm by part, hybrid x86 by the kernel's two lists, else by clock."""
    by_kind: dict[tuple[CoreKind | None, tuple[int, int] | None], list[int]] = defaultdict(list)
    kinds = _x86_kinds(tree, info, topology, max_by_cpu)
    for cpu in sorted(topology.online):
        by_kind[kinds.get(cpu), _part(info, cpu)].append(cpu)
    kept = _arm_kinds(by_kind)
    single = len(by_kind) == 1
    return tuple(
        CoreReading(
            kind=kept.get(part, kind) if part else kind,
            part=part,
            threads=len(cpus),
            physical_cores=(single and topology.physical_cores) or len(topology.cores_of(cpus)),
            allowed_cores=len(topology.cores_of(allowed & set(cpus))) if allowed & topology.online else None,
            max_clock_hz=max((max_by_cpu[cpu] for cpu in cpus if cpu in max_by_cpu), default=None),
        )
        for (kind, part), cpus in by_kind.items()
    )


def _arm_kinds(
    by_kind: Mapping[tuple[CoreKind | None, tuple[int, int] | None], list[int]],
) -> dict[tuple[int, int], CoreKind]:
    """Call Arm parts performance or efficiency: a small design beside a larger one is the second."""
    parts = {part for _, part in by_kind if part is not None}
    designs = {part: MICROARCHITECTURES.get(ARM_PARTS.get(part, "")) for part in parts}
    reach = {p: (d.datapath_bits or 0) * max(d.pipes.values(), default=0) for p, d in designs.items() if d}
    largest = max(reach.values(), default=0)
    mixed_sizes = len({bool(d and d.efficiency) for d in designs.values()}) > 1
    kinds = {}
    for part, design in designs.items():
        small = bool(design and design.efficiency) if mixed_sizes else 0 < reach.get(part, 0) < largest
        kinds[part] = CoreKind.EFFICIENCY if small and len(parts) > 1 else CoreKind.PERFORMANCE
    return kinds


def _part(info: CpuInfo, cpu: int) -> tuple[int, int] | None:
    implementer, part = info.number("CPU implementer", cpu), info.number("CPU part", cpu)
    return (implementer, part) if implementer is not None and part is not None else None


def _x86_kinds(
    tree: Tree, info: CpuInfo, topology: Topology, max_by_cpu: Mapping[int, float]
) -> dict[int, CoreKind]:
    """Return the kind of each CPU of a hybrid x86, empty where all are alike or nothing tells."""
    if "flags" not in {key for record in info.records.values() for key in record} and info.records:
        return {}
    small = (parse_cpu_list(tree.line("/sys/devices/cpu_atom/cpus")) or frozenset()) | (
        parse_cpu_list(tree.line("/sys/devices/cpu_lowpower/cpus")) or frozenset()
    )
    large = parse_cpu_list(tree.line("/sys/devices/cpu_core/cpus")) or frozenset()
    small, large = small & topology.online, large & topology.online
    if not small or not large:
        large, small = _by_threads(topology, max_by_cpu)
    return dict.fromkeys(large, CoreKind.PERFORMANCE) | dict.fromkeys(small, CoreKind.EFFICIENCY)


def _by_threads(topology: Topology, max_by_cpu: Mapping[int, float]) -> tuple[frozenset[int], frozenset[int]]:
    """Split by clock where some cores are much slower than others, the kernel's lists being absent."""
    if len(max_by_cpu) != len(topology.online) or not max_by_cpu:
        return frozenset(), frozenset()
    top = max(max_by_cpu.values())
    small = frozenset(cpu for cpu, hz in max_by_cpu.items() if hz < _SLOWER_KIND * top)
    cores = list(topology.core_of.values())
    shared = {cpu for cpu, key in topology.core_of.items() if cores.count(key) > 1}
    # Efficiency cores have no SMT: a slow core with two threads is a throttled one of the same kind.
    if not small or small & shared:
        return frozenset(), frozenset()
    return topology.online - small, small


def _sockets(topology: Topology, cores: tuple[CoreReading, ...]) -> int | None:
    """Return the sockets; older Arm kernels number the clusters of one chip as packages."""
    parts = {core.part for core in cores if core.part is not None}
    return 1 if len(parts) > 1 else topology.sockets


def _architecture(info: CpuInfo, flags: frozenset[str]) -> str | None:
    if "lm" in flags:
        return "x86_64"
    if info.get("vendor_id") in {"GenuineIntel", "AuthenticAMD"}:
        return "x86"
    if info.get("CPU implementer"):
        return "aarch64" if "asimd" in flags or info.get("CPU architecture") == "8" else "arm"
    if _POWER.search(info.get("cpu") or ""):
        return "ppc64"
    return "riscv64" if (info.get("isa") or "").startswith("rv64") else None


def _model_name(tree: Tree, info: CpuInfo) -> str | None:
    """Return the processor's name; the board's only where the core has no part number to go by."""
    keys = ("model name", "Processor", "cpu", "cpu model")
    boards = () if info.get("CPU part") else ("Model", "Hardware")
    for key in keys + boards:
        value = info.get(key)
        if value and not value.isdigit():
            return value
    return None if info.get("CPU part") else tree.line("/proc/device-tree/model")


def _design(info: CpuInfo) -> str | None:
    """Name a core that has no numbers: POWER by generation, RISC-V by the device tree's name."""
    power = _POWER.search(info.get("cpu") or "")
    if power:
        return f"power{power[1]}"
    uarch = (info.get("uarch") or "").partition(",")[2].removesuffix("-mc")
    return uarch or ("x60" if "X60" in (info.get("model name") or "") else None)


def _sve_bits(tree: Tree, flags: frozenset[str]) -> int | None:
    if "sve" not in flags:
        return None
    length = tree.positive("/proc/sys/abi/sve_default_vector_length")
    return length * _BITS_A_BYTE if length and length <= _MAX_SVE_BYTES else None
