"""What the control groups of this process allow: CPUs as a fraction, CPU numbers, bytes of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.cpulist import parse_cpu_list
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from estimator.detect.ledger import Ledger
    from estimator.detect.tree import Tree

_ROOT = "/sys/fs/cgroup"
_DEFAULT_PERIOD_US = 100_000
# v1 writes the largest page-aligned number for "no limit"; no machine has a mebi-gibibyte.
_NO_LIMIT_BYTES = 1 << 50
_MAX_DEPTH = 32
_FIELDS_BEFORE_DASH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """None is "no limit". ``quota_cpus`` is CPU time a second; shares are a weight, never a limit."""

    quota_cpus: float | None = None
    cpuset: frozenset[int] | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    cpu_shares: int | None = None


class _Mount(NamedTuple):
    root: str
    point: str
    controllers: frozenset[str]
    version: int


def read_cgroup(tree: Tree, ledger: Ledger) -> CgroupLimits:
    """Return the tightest limits along the whole path of this process's groups, v1 and v2."""
    memberships = _memberships(tree)
    mounts = _mounts(tree)
    cpu = list(_directories("cpu", mounts, memberships))
    sets = list(_directories("cpuset", mounts, memberships))
    memory = list(_directories("memory", mounts, memberships))
    quota = _least(_quota(tree, path, ledger) for path in cpu)
    if quota is not None:
        ledger.source("quota_cpus", "cpu.max or cpu.cfs_quota_us along the cgroup path")
    limit = _least(_memory_limit(tree, path) for path in memory)
    return CgroupLimits(
        quota_cpus=quota,
        cpuset=_cpuset(tree, sets),
        memory_bytes=int(limit) if limit is not None else None,
        memory_used_bytes=_first(tree, memory, ("memory.current", "memory.usage_in_bytes")),
        cpu_shares=_first(tree, cpu, ("cpu.shares", "cpu.weight")),
    )


def _memberships(tree: Tree) -> dict[str, str]:
    """Return the group path by controller; version 2's has the empty name."""
    found: dict[str, str] = {}
    for line in (tree.text("/proc/self/cgroup") or "").splitlines():
        number, colon, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if colon and second and path.startswith("/") and parse_integer(number) is not None:
            for controller in controllers.split(","):
                found.setdefault(controller, path)
    return found


def _mounts(tree: Tree) -> list[_Mount]:
    """Return the cgroup mounts: as mountinfo lists them, and as the usual directories show them."""
    listed = [m for line in (tree.text("/proc/self/mountinfo") or "").splitlines() if (m := _mount(line))]
    usual = [_Mount("/", _ROOT, frozenset(), 2), _Mount("/", f"{_ROOT}/unified", frozenset(), 2)]
    # The directory may be "cpu,cpuacct", "cpuacct,cpu" or a link "cpu" to either.
    usual += [_Mount("/", f"{_ROOT}/{n}", frozenset(n.split(",")), 1) for n in tree.names(_ROOT)]
    points = {mount.point for mount in listed}
    return listed + [mount for mount in usual if mount.point not in points]


def _mount(line: str) -> _Mount | None:
    before, dash, after = line.partition(" - ")
    fields, kind = before.split(), after.split()
    if not dash or len(fields) < _FIELDS_BEFORE_DASH or not kind or kind[0] not in {"cgroup", "cgroup2"}:
        return None
    options = frozenset(kind[-1].split(","))
    return _Mount(fields[3], fields[4], options, 2 if kind[0] == "cgroup2" else 1)


def _directories(controller: str, mounts: list[_Mount], memberships: dict[str, str]) -> Iterator[str]:
    """Yield the group directories from the process's own up to the mount point, of every mount."""
    for mount in mounts:
        if mount.version == 1 and controller not in mount.controllers:
            continue
        path = memberships.get(controller if mount.version == 1 else "", "/")
        yield from _upwards(mount, path)


def _upwards(mount: _Mount, path: str) -> Iterator[str]:
    """Yield ``point/a/b``, ``point/a``, ``point`` for a group ``/a/b`` below the mount's root.

    Inside a container the path can be the host's, or start with ``/..``: then only the mount is ours.
    """
    root = mount.root.rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    parts = [part for part in path.split("/") if part not in {"", "."}][:_MAX_DEPTH]
    if ".." in parts:
        parts = []
    for count in range(len(parts), -1, -1):
        yield "/".join([mount.point.rstrip("/"), *parts[:count]])


def _quota(tree: Tree, path: str, ledger: Ledger) -> float | None:
    """Return quota over period of one group; ``max``, -1, an empty or a broken file are no limit."""
    text = tree.line(f"{path}/cpu.max")
    if text is not None:
        quota_text, period_text, *_ = [*text.split(), "", ""]
        quota = parse_integer(quota_text)
        period = parse_integer(period_text) if period_text else _DEFAULT_PERIOD_US
        broken = quota_text != "max" and (quota is None or quota <= 0 or not period or period < 0)
    else:
        quota = tree.integer(f"{path}/cpu.cfs_quota_us")
        period = tree.integer(f"{path}/cpu.cfs_period_us")
        period = _DEFAULT_PERIOD_US if period is None else period
        broken = quota is not None and quota > 0 >= period
    if broken:
        ledger.finding(
            "a CPU quota could not be read",
            f"the control group's file holds {text or f'{quota} over {period}'!r}",
            "give the number of CPUs with --cpus if the container is limited",
        )
    if broken or quota is None or quota <= 0 or not period or period <= 0:
        return None
    return quota / period


def _cpuset(tree: Tree, paths: Iterable[str]) -> frozenset[int] | None:
    """Return the CPUs that all the groups on the path allow; the effective list where there is one."""
    allowed: frozenset[int] | None = None
    for path in paths:
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            cpus = parse_cpu_list(tree.line(f"{path}/{name}"))
            if cpus:
                allowed = cpus if allowed is None else allowed & cpus or allowed
                break
    return allowed


def _memory_limit(tree: Tree, path: str) -> float | None:
    limits = [
        value
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes")
        if (value := tree.positive(f"{path}/{name}")) is not None and value < _NO_LIMIT_BYTES
    ]
    return _least(limits)


def _first(tree: Tree, paths: list[str], names: tuple[str, ...]) -> int | None:
    found = (
        value for path in paths for name in names if (value := tree.positive(f"{path}/{name}")) is not None
    )
    return next(found, None)


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
