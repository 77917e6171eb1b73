"""Main memory of a Linux host: total, available, and what the control group leaves of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.detect.facts import MemoryFacts

if TYPE_CHECKING:
    from estimator.detect.cgroup import CgroupLimits
    from estimator.detect.ledger import Ledger
    from estimator.detect.tree import Tree

_LINE = re.compile(r"(\w+):\s*([0-9]{1,15})\s*kB")
_KIB = 1 << 10


def read_memory(tree: Tree, limits: CgroupLimits, ledger: Ledger) -> MemoryFacts:
    """Return the facts about main memory; a total that cannot be read is None with a finding."""
    fields = _meminfo(tree.text("/proc/meminfo"))
    total, available = fields.get("MemTotal"), fields.get("MemAvailable")
    limit = limits.memory_bytes
    if total is None:
        ledger.finding(
            "size of main memory not known",
            "/proc/meminfo is missing or has no MemTotal",
            "run where /proc is mounted",
        )
    else:
        ledger.source("total_bytes", "/proc/meminfo")
    if limit is not None and (total is None or limit < total):
        ledger.source("cgroup_limit_bytes", "memory.max or memory.limit_in_bytes along the cgroup path")
    else:
        limit = None
    return memory_facts(total, available, limit, limits.memory_used_bytes, ledger)


def memory_facts(
    total: int | None, available: int | None, limit: int | None, used: int | None, ledger: Ledger
) -> MemoryFacts:
    """Return the facts with what is usable: the lesser of the total and the limit."""
    usable = min((value for value in (total, limit) if value is not None), default=None)
    left = max(limit - (used or 0), 0) if limit is not None else None
    free = min((value for value in (available, left) if value), default=None)
    return MemoryFacts(
        total_bytes=total,
        available_bytes=free,
        cgroup_limit_bytes=limit,
        usable_bytes=usable,
        provenance=ledger.provenance(),
    )


def _meminfo(text: str | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in (text or "").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match and int(match[2]) > 0:
            found.setdefault(match[1], int(match[2]) * _KIB)
    return found
