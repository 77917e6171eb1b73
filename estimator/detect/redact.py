"""Names, serial numbers and identifiers out of a host record, alike ones by the same stand-in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_UUID = re.compile(r"\b[0-9a-fA-F]{8}([-_])[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{4}\1[0-9a-fA-F]{12}\b")
_GPU = re.compile(r"\b(GPU|MIG)-[0-9a-zA-Z][0-9a-zA-Z-]*")
# Container and session ids: long runs of hex digits with a letter among them (sizes have none).
_HEX_ID = re.compile(r"(?<![0-9a-zA-Z])(?=[0-9]*[a-f])[0-9a-f]{12,64}(?![0-9a-zA-Z])")
_SERIAL_LINE = re.compile(r"^\s*[^:\n]*serial[^:\n]*:.*$", re.IGNORECASE | re.MULTILINE)
_UNIQUE_ID = re.compile(r"^unique_id [0-9]+$", re.MULTILINE)
_SHORTEST_NAME = 3
_CONTROLLERS = (
    "cpu|cpuacct|cpuset|memory|blkio|io|devices|freezer|hugetlb|net_cls|net_prio|perf_event|pids|rdma|misc"
)
# Parts of control-group paths that systems give, after ids in them have been replaced.
_GROUP_PART = re.compile(
    rf"(?:{_CONTROLLERS})(?:,(?:{_CONTROLLERS}))*|sys|fs|run|dev|mnt|cgroup2?|unified|systemd|\.\.?|[0-9]+|id[0-9]+|"
    r"(?:-|system|user|machine|app|session|background|init|docker|podman|kubepods)(?:\.slice|\.scope|\.service)?|"
    r"user-[0-9]+\.slice|user@[0-9]+\.service|session-c?[0-9]+\.scope|besteffort|burstable|guaranteed|"
    r"kubepods(?:-besteffort|-burstable|-guaranteed)?(?:-pod[0-9_-]+)?\.slice|pod[0-9_-]+|lxc(?:\.payload)?|"
    r"(?:docker|libpod|libpod-conmon|crio|crio-conmon|cri-containerd|containerd)-id[0-9]+(?:\.scope)?"
)
_GROUP_FILE = re.compile(rf"(?:{_CONTROLLERS}|cgroup)\.[a-z_.]+")
_GROUP_KIND = re.compile(r"\.(?:slice|scope|service)$")
# Words that are both a user's or host's name and part of a system's own paths.
_COMMON = frozenset(
    {"root", "user", "system", "localhost", "docker", "cpu", "memory", "nvidia", "linux", "sys", "proc"}
)


class Redactor:
    """Replace what identifies a person or a machine; equal texts get equal stand-ins, so masks still fit."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        known = sorted({n for n in names if len(n) >= _SHORTEST_NAME and n.lower() not in _COMMON}, key=len)
        self._names = re.compile(
            "|".join(rf"(?<!\w){re.escape(n)}(?!\w)" for n in reversed(known)) or r"(?!)"
        )
        self._stand_ins: dict[str, int] = {}
        self._gpus: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return a text without user names, serial lines and UUIDs."""
        text = _SERIAL_LINE.sub("", text)
        text = _UNIQUE_ID.sub(lambda match: f"unique_id {self._number(match[0])}", text)
        text = _UUID.sub(self._uuid, text)
        return self._names.sub("name", text)

    def path(self, text: str) -> str:
        """Return a control-group path or a text of such, without container ids either."""
        return _HEX_ID.sub(lambda match: f"id{self._number(match[0])}", self.text(text))

    def group(self, text: str) -> str:
        """Return a control-group path, its parts that no system gives replaced: they are people's words."""
        return "/".join(map(self._group_part, self.path(text).split("/")))

    def _group_part(self, part: str) -> str:
        if not part or _GROUP_PART.fullmatch(part) or _GROUP_FILE.fullmatch(part):
            return part
        kind = _GROUP_KIND.search(part)
        return f"name{self._number(part)}{kind[0] if kind else ''}"

    def gpu(self, text: str) -> str:
        """Return a device's UUID with its kind kept: ``GPU-00000000-...-000000000001``."""
        match = _GPU.fullmatch(text)
        inner = self.text(text)
        if match and inner == text:
            inner = f"{match[1]}-{self._number(text):012d}"
        self._gpus[text] = inner
        return inner

    def mask(self, text: str) -> str:
        """Return a list of devices with each UUID, or the start of one, as the device's stand-in."""
        return ",".join(self._masked(word.strip()) for word in text.split(","))

    def _masked(self, word: str) -> str:
        if not word.upper().startswith(("GPU-", "MIG-")):
            return self.text(word)
        fits = [new for old, new in self._gpus.items() if old.lower().startswith(word.lower())]
        return fits[0] if len(fits) == 1 else f"{word[:4]}not-one-of-them"

    def _uuid(self, match: re.Match[str]) -> str:
        dash = match[1]
        return f"00000000{dash}0000{dash}0000{dash}0000{dash}{self._number(match[0]):012d}"

    def _number(self, text: str) -> int:
        return self._stand_ins.setdefault(text.lower(), len(self._stand_ins) + 1)
