"""The caches of a Linux host, from sysfs; /proc/cpuinfo's "cache size" is L2 on some, L3 on others."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from estimator.detect.cpulist import parse_cpu_list
from estimator.detect.facts import CacheFacts
from estimator.detect.topology import CPU_DIRECTORY

if TYPE_CHECKING:
    from estimator.detect.tree import Tree

_SIZE = re.compile(r"([0-9]{1,10})\s*([KMG]?)B?")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MAX_LEVEL = 5


def parse_cache_size(text: str | None) -> int | None:
    """Return the bytes of ``32K`` or ``32768K``; 0 and what is not a size are None."""
    match = _SIZE.fullmatch(text or "")
    return int(match[1]) * _UNITS[match[2]] or None if match else None


def read_caches(tree: Tree, online: frozenset[int]) -> tuple[CacheFacts, ...]:
    """Return each kind of cache with its size and number; kinds differ by level, type and size."""
    found: dict[tuple[int, str, int], list[int]] = defaultdict(list)
    lines: dict[tuple[int, str, int], int | None] = {}
    covered: dict[str, set[int]] = defaultdict(set)
    for cpu in sorted(online):
        base = f"{CPU_DIRECTORY}/cpu{cpu}/cache"
        for name in tree.names(base):
            # A cache that a CPU read earlier shares with this one is not read again.
            if not name.startswith("index") or cpu in covered[name]:
                continue
            key = _key(tree, f"{base}/{name}")
            if key is None:
                continue
            shared = (parse_cpu_list(tree.line(f"{base}/{name}/shared_cpu_list")) or frozenset()) & online
            covered[name] |= shared | {cpu}
            found[key].append(len(shared | {cpu}))
            lines.setdefault(key, tree.positive(f"{base}/{name}/coherency_line_size"))
    return tuple(
        CacheFacts(
            level=level, kind=kind, size_bytes=size, instances=len(sharing), threads_sharing=max(sharing),
            line_bytes=lines[level, kind, size],
        )
        for (level, kind, size), sharing in sorted(found.items())
    )  # fmt: skip


def _key(tree: Tree, base: str) -> tuple[int, str, int] | None:
    level = tree.positive(f"{base}/level")
    size = parse_cache_size(tree.line(f"{base}/size"))
    kind = (tree.line(f"{base}/type") or "").lower()
    if level is None or level > _MAX_LEVEL or size is None or kind not in {"data", "instruction", "unified"}:
        return None
    return level, kind, size
