"""py-cpuinfo, asked only where the operating system told nothing: a call takes over a second."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.ledger import Ledger
    from estimator.detect.reading import CpuReading
    from estimator.detect.seams import Seams

COMMAND = (sys.executable, "-m", "cpuinfo", "--json")
DEADLINE_S = 4.0
_MOST_CPUS = 1 << 16


def fill_unknown(reading: CpuReading, seams: Seams, ledger: Ledger) -> CpuReading:
    """Return the reading with what only py-cpuinfo knows; its caches and clocks are not to be trusted.

    Each of its keys is optional: Arm boards have no brand, old versions spell ``brand_raw`` ``brand``.
    """
    answer = _answer(seams.command(COMMAND, DEADLINE_S))
    if not answer:
        return reading
    ledger.source("model_name", "py-cpuinfo")
    count = _whole(answer, "count")
    threads = reading.threads or (count if count is not None and 0 < count <= _MOST_CPUS else None)
    flags = answer.get("flags")
    return replace(
        reading,
        model_name=reading.model_name or _word(answer, "brand_raw", "brand"),
        vendor=reading.vendor or _word(answer, "vendor_id_raw", "vendor_id"),
        family=reading.family if reading.family is not None else _whole(answer, "family"),
        model=reading.model if reading.model is not None else _whole(answer, "model"),
        stepping=reading.stepping if reading.stepping is not None else _whole(answer, "stepping"),
        flags=reading.flags or frozenset(str(f).lower() for f in flags if f)
        if isinstance(flags, list)
        else reading.flags,
        threads=threads,
        allowed_count=reading.allowed_count or threads,
    )


def _answer(text: str | None) -> dict[str, Any]:
    try:
        answer = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _word(answer: Mapping[str, Any], *keys: str) -> str | None:
    found = (answer.get(key) for key in keys)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), None)


def _whole(answer: Mapping[str, Any], key: str) -> int | None:
    value = answer.get(key)
    if isinstance(value, bool):
        return None
    return value if isinstance(value, int) else parse_integer(value if isinstance(value, str) else None)
