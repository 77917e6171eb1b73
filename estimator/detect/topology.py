"""Which logical CPUs are online on Linux, and which core and socket each belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.detect.cpulist import parse_cpu_list
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from estimator.detect.cpuinfo import CpuInfo
    from estimator.detect.ledger import Ledger
    from estimator.detect.tree import Tree

CPU_DIRECTORY = "/sys/devices/system/cpu"
_CPUINFO = "/proc/cpuinfo"
_CPU_NAME = re.compile(r"cpu([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """``core_of`` gives each online CPU its core's key (socket, die, core); None where nothing tells."""

    online: frozenset[int]
    core_of: Mapping[int, tuple[int, int, int]]
    sockets: int | None
    physical_cores: int | None

    def cores_of(self, cpus: Iterable[int]) -> frozenset[tuple[int, int, int]]:
        """Return the cores behind some CPUs; one whose core nobody tells is a core of its own."""
        return frozenset(self.core_of.get(cpu, (cpu, -1, -1)) for cpu in cpus)


def online_cpus(tree: Tree, info: CpuInfo, ledger: Ledger) -> frozenset[int]:
    """Return the CPUs that are online: never a range, the numbers can have holes."""
    listed = parse_cpu_list(tree.line(f"{CPU_DIRECTORY}/online"))
    if listed:
        ledger.source("online_cpus", f"{CPU_DIRECTORY}/online")
        return listed
    if info.records:
        ledger.source("online_cpus", "/proc/cpuinfo")
        return frozenset(info.records)
    found = frozenset(_directories(tree))
    if found:
        ledger.source("online_cpus", CPU_DIRECTORY)
    return found


def _directories(tree: Tree) -> list[int]:
    """Return the numbers of the cpuN directories that are not switched off (cpu0 has no switch)."""
    matches = [_CPU_NAME.fullmatch(name) for name in tree.names(CPU_DIRECTORY)]
    numbers = [int(match[1]) for match in matches if match]
    return [n for n in numbers if tree.integer(f"{CPU_DIRECTORY}/cpu{n}/online") != 0]


def read_topology(tree: Tree, info: CpuInfo, ledger: Ledger) -> Topology:
    """Return online CPUs, cores and sockets: from sysfs, else from cpuinfo, else each CPU its own core."""
    online = online_cpus(tree, info, ledger)
    core_of = {cpu: key for cpu in online if (key := _sysfs_core(tree, cpu)) is not None}
    where = f"{CPU_DIRECTORY}/cpu*/topology"
    if len(core_of) != len(online):
        # Some files are missing (sandbox, stale copy): one source for all, or cores would be counted twice.
        core_of = {cpu: key for cpu in online if (key := _cpuinfo_core(info, cpu)) is not None}
        where = _CPUINFO
    elif not _agrees_with_siblings(tree, core_of):
        core_of = {cpu: (key[0], key[1], _first_sibling(tree, cpu)) for cpu, key in core_of.items()}
        where = f"{CPU_DIRECTORY}/cpu*/topology/thread_siblings_list"
    trusted = where != _CPUINFO or not _too_many_threads(info, core_of)
    if online and len(core_of) == len(online) and trusted:
        ledger.source("physical_cores", where)
        ledger.source("sockets", where)
        return Topology(
            online=online,
            core_of=core_of,
            sockets=len({key[0] for key in core_of.values()}),
            physical_cores=len(set(core_of.values())),
        )
    return _without_core_ids(online, info, ledger)


def _sysfs_core(tree: Tree, cpu: int) -> tuple[int, int, int] | None:
    base = f"{CPU_DIRECTORY}/cpu{cpu}/topology"
    core = tree.integer(f"{base}/core_id")
    if core is None or core < 0:
        return None
    # Older Arm kernels write -1 for a socket or die they do not know: there is one.
    package = max(tree.integer(f"{base}/physical_package_id") or 0, 0)
    die = max(tree.integer(f"{base}/die_id") or 0, 0)
    return package, die, core


def _siblings(tree: Tree, cpu: int) -> frozenset[int] | None:
    base = f"{CPU_DIRECTORY}/cpu{cpu}/topology"
    return parse_cpu_list(tree.line(f"{base}/core_cpus_list") or tree.line(f"{base}/thread_siblings_list"))


def _first_sibling(tree: Tree, cpu: int) -> int:
    return min(_siblings(tree, cpu) or {cpu})


def _agrees_with_siblings(tree: Tree, core_of: Mapping[int, tuple[int, int, int]]) -> bool:
    """Say whether CPUs of one core id also name each other; some guests give every CPU core id 0."""
    first_of: dict[tuple[int, int, int], int] = {}
    for cpu, key in sorted(core_of.items()):
        first = first_of.setdefault(key, cpu)
        siblings = _siblings(tree, cpu) if first != cpu else None
        if siblings and first not in siblings:
            return False
    return True


def _too_many_threads(info: CpuInfo, core_of: Mapping[int, tuple[int, int, int]]) -> bool:
    """Say whether more CPUs claim one core than its SMT has threads: ids that mean nothing."""
    siblings, cores = info.number("siblings"), info.number("cpu cores")
    if not siblings or not cores or siblings < cores:
        return False
    return len(core_of) > len(set(core_of.values())) * -(-siblings // cores)


def _cpuinfo_core(info: CpuInfo, cpu: int) -> tuple[int, int, int] | None:
    core = info.number("core id", cpu)
    package = info.number("physical id", cpu)
    return (package, 0, core) if core is not None and package is not None else None


def _without_core_ids(online: frozenset[int], info: CpuInfo, ledger: Ledger) -> Topology:
    """Count cores where no CPU names its core: cpuinfo's totals, else one core a CPU."""
    packages = {package for cpu in info.records if (package := info.number("physical id", cpu)) is not None}
    per_socket, siblings = info.number("cpu cores"), info.number("siblings")
    total = (per_socket or 0) * len(packages)
    threads = total * -(-(siblings or per_socket or 0) // per_socket) if per_socket else 0
    if 0 < total <= len(online) <= threads:
        ledger.source("physical_cores", "/proc/cpuinfo (cpu cores x sockets)")
        return Topology(online=online, core_of={}, sockets=len(packages), physical_cores=total)
    if online:
        ledger.source("physical_cores", "one core a logical CPU", note="no topology is visible")
        if "ht" in info.words("flags"):
            ledger.finding(
                "physical cores taken as many as logical CPUs",
                "neither sysfs nor /proc/cpuinfo says which CPUs share a core",
                "if SMT is on, halve it; the probe's rate at all threads shows it",
            )
    return Topology(online=online, core_of={}, sockets=None, physical_cores=len(online) or None)


def numa_nodes(tree: Tree, online: frozenset[int]) -> int | None:
    """Return the number of memory nodes with an online CPU (GPU and HBM nodes have none), else None."""
    base = "/sys/devices/system/node"
    lists = [parse_cpu_list(tree.line(f"{base}/{n}/cpulist")) for n in tree.names(base) if _is_node(n)]
    return sum(1 for cpus in lists if cpus and cpus & online) or None


def _is_node(name: str) -> bool:
    return name.startswith("node") and parse_integer(name.removeprefix("node")) is not None
