"""The text of ``/proc/cpuinfo``: a record for each online CPU, in every architecture's dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.detect.cpulist import MAX_CPU
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

_S390_RECORD = re.compile(r"processor\s+([0-9]+)")


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """``records`` by CPU number, and ``common``: what stands outside of all of them (old ARM kernels)."""

    records: Mapping[int, Mapping[str, str]]
    common: Mapping[str, str]

    def get(self, key: str, cpu: int | None = None) -> str | None:
        """Return a value of one CPU (default the first), else the common one; empty counts as absent."""
        if cpu is None:
            cpu = min(self.records, default=None)
        own = self.records.get(cpu, {}) if cpu is not None else {}
        return own.get(key) or self.common.get(key) or None

    def number(self, key: str, cpu: int | None = None) -> int | None:
        """Return a value as a whole number; below 0 it is "not known", as what is no number."""
        value = parse_integer(self.get(key, cpu))
        return value if value is not None and value >= 0 else None

    def words(self, *keys: str) -> frozenset[str]:
        """Return the words of the first of the keys that has any (``flags``, ``Features``)."""
        for key in keys:
            value = self.get(key)
            if value:
                return frozenset(value.lower().split())
        return frozenset()


def parse_cpuinfo(text: str | None) -> CpuInfo:
    """Return the records of a cpuinfo text; nothing in it can make this fail."""
    records: dict[int, dict[str, str]] = {}
    common: dict[str, str] = {}
    current = common
    for line in (text or "").splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            # A blank line ends a record: what follows without a number belongs to all.
            current = common if not key else current
            continue
        number = _record_number(key, value)
        if number is None:
            current.setdefault(key, value)
        else:
            current = records.setdefault(number, {})
    return CpuInfo(records, common)


def _record_number(key: str, value: str) -> int | None:
    """Return the CPU number of a line that opens a record: ``processor : 3``, s390: ``processor 3: ...``."""
    s390 = _S390_RECORD.fullmatch(key)
    number = parse_integer(s390[1]) if s390 else parse_integer(value) if key == "processor" else None
    return number if number is not None and 0 <= number <= MAX_CPU else None
