"""Lists of CPU numbers as Linux writes them: ``0-3,8,10-11``."""

from __future__ import annotations

import re

# Far above any machine; a corrupt list must not make a set of a billion numbers.
MAX_CPU = 1 << 16
_SPAN = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def parse_cpu_list(text: str | None) -> frozenset[int] | None:
    """Return the CPU numbers of a list, an empty set for an empty list, None for no or a broken list."""
    if text is None:
        return None
    numbers: set[int] = set()
    for part in text.strip("\0 \t\r\n").split(","):
        if not part.strip():
            continue
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            return None
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last > MAX_CPU:
            return None
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def write_cpu_list(numbers: frozenset[int]) -> str:
    """Return the list of the numbers, runs written as ``first-last``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
