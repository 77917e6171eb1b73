"""The GPUs of a Mac, from ``system_profiler``: name and cores; memory is main memory on Apple's chips."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from estimator.detect.facts import MemoryFacts
    from estimator.detect.seams import Seams

COMMAND = ("system_profiler", "SPDisplaysDataType", "-json")
_DEADLINE_S = 5.0
_LANES_PER_CORE = 128
_UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_MOST_CORES = 1024


def read_apple_gpus(seams: Seams, memory: MemoryFacts, ledger: Ledger) -> tuple[GpuFacts, ...]:
    """Return the GPUs of a Mac; what system_profiler does not say is a finding."""
    text = seams.command(COMMAND, _DEADLINE_S)
    found = displays(text)
    if not found:
        ledger.finding(
            "no GPU found",
            "system_profiler gives no answer" if not text else "system_profiler lists no display device",
            "check `system_profiler SPDisplaysDataType`",
        )
    return tuple(_read(display, index, memory) for index, display in enumerate(found))


def displays(text: str | None) -> list[dict[str, Any]]:
    """Return the display devices in system_profiler's JSON, none where it is not that."""
    try:
        record = json.loads(text or "")
    except (ValueError, RecursionError):
        return []
    listed = record.get("SPDisplaysDataType") if isinstance(record, dict) else None
    return [display for display in listed if isinstance(display, dict)] if isinstance(listed, list) else []


def _read(display: dict[str, Any], index: int, memory: MemoryFacts) -> GpuFacts:
    ledger = Ledger()
    name = _text(display.get("sppci_model")) or _text(display.get("_name"))
    apple = (name or "").startswith("Apple") or "apple" in str(display.get("spdisplays_vendor", "")).lower()
    cores = parse_integer(_text(display.get("sppci_cores")))
    cores = cores if cores is not None and 0 < cores <= _MOST_CORES else None
    total = memory.usable_bytes if apple else _bytes(_text(display.get("spdisplays_vram")))
    if cores is None:
        ledger.finding(
            f"number of GPU cores of {name or 'the GPU'} not known",
            "system_profiler does not tell",
            "the catalogue's figure is used where the device is in it",
        )
    if total is None:
        ledger.finding(
            f"memory of {name or 'the GPU'} not known",
            "system_profiler does not tell",
            "check About This Mac",
        )
    ledger.source("units", "system_profiler SPDisplaysDataType")
    return GpuFacts(
        index=index,
        vendor="Apple" if apple else _vendor(display),
        name=name,
        cores=cores * _LANES_PER_CORE if cores and apple else None,
        units=cores,
        memory_bytes=total,
        memory_free_bytes=memory.available_bytes if apple else None,
        unified_memory=apple,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _vendor(display: dict[str, Any]) -> str:
    vendor = str(display.get("spdisplays_vendor", "")).lower()
    return next((name for name in ("AMD", "Intel", "NVIDIA") if name.lower() in vendor), "unknown")


def _bytes(text: str | None) -> int | None:
    """Return the bytes of ``8 GB``."""
    number, _, unit = (text or "").partition(" ")
    count = parse_integer(number)
    return count * _UNITS[unit.upper()] if count and count > 0 and unit.upper() in _UNITS else None
