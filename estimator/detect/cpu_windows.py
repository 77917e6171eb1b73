"""The processors and memory of a Windows host, from its registry and processor information."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.clocks import clock_in_name, plausible
from estimator.detect.facts import CacheFacts, CoreKind
from estimator.detect.memory import memory_facts
from estimator.detect.reading import CoreReading, CpuReading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.detect.facts import MemoryFacts
    from estimator.detect.ledger import Ledger
    from estimator.detect.windows_api import WindowsApi

_IDENTIFIER = re.compile(r"Family\s+([0-9]+)\s+Model\s+([0-9]+)\s+Stepping\s+([0-9]+)", re.IGNORECASE)
_SNAPDRAGON_X = re.compile(r"Snapdragon.* X\b", re.IGNORECASE)
_MHZ = 1e6
# LOGICAL_PROCESSOR_RELATIONSHIP (winnt.h).
_CORE, _NODE, _CACHE, _PACKAGE = 0, 1, 2, 3
_HEADER, _GROUP_BYTES = 8, 16
_CACHE_KINDS = {0: "unified", 1: "instruction", 2: "data"}
_MOST_LEVEL, _MOST_CACHE_BYTES = 4, 1 << 32


class _Core(NamedTuple):
    threads: int
    efficiency_class: int
    cpus: frozenset[tuple[int, int]]


class _Layout(NamedTuple):
    cores: list[_Core]
    sockets: int
    nodes: int
    caches: dict[tuple[int, str, int], list[int]]


def windows_memory(api: WindowsApi, ledger: Ledger) -> MemoryFacts:
    """Return the facts about a Windows host's memory."""
    if api.total_bytes is None:
        ledger.finding("size of main memory not known", "Windows gives no answer", "check the task manager")
    else:
        ledger.source("total_bytes", "GlobalMemoryStatusEx")
    return memory_facts(api.total_bytes, api.available_bytes, None, None, ledger)


def windows_reading(api: WindowsApi, ledger: Ledger) -> CpuReading:
    """Return what Windows shows of its processors."""
    name = _text(api.processor.get("ProcessorNameString"))
    family, model, stepping = _numbers(_text(api.processor.get("Identifier")))
    layout = parse_processor_information(api.processor_information)
    threads = sum(core.threads for core in layout.cores) or None
    allowed = _allowed(api, layout)
    if threads and allowed and len(allowed) < threads:
        ledger.finding(
            f"this process may use {len(allowed)} of the machine's {threads} logical CPUs",
            "a process runs in one processor group of at most 64 (or its affinity is limited)",
            "start a process a group (`start /node`), or use Windows 11 or Server 2022",
        )
    for fact in ("threads", "physical_cores", "sockets", "caches"):
        ledger.source(fact, "GetLogicalProcessorInformationEx")
    mhz = api.processor.get("~MHz")
    ledger.finding(
        "highest clock of the cores not known", "Windows tells the base clock only",
        "run `estimator detect --probe`: it measures the clock in a fraction of a second",
    )  # fmt: skip
    return CpuReading(
        architecture="x86_64" if family is not None else "aarch64" if "neon" in api.features else None,
        model_name=name,
        vendor=_text(api.processor.get("VendorIdentifier")),
        design="oryon" if _SNAPDRAGON_X.search(name or "") else None,
        family=family,
        model=model,
        stepping=stepping,
        flags=_flags(api.features),
        sockets=layout.sockets or None,
        cores=_kinds(layout.cores, allowed),
        physical_cores=len(layout.cores) or None,
        threads=threads,
        numa_nodes=layout.nodes or None,
        caches=_caches(layout),
        base_clock_hz=clock_in_name(name) or (plausible(mhz * _MHZ) if isinstance(mhz, int) else None),
        online_cpus=frozenset(range(threads or 0)),
        allowed_cpus=frozenset(range(len(allowed) or threads or 0)),
        allowed_count=len(allowed) or threads,
        allowed_cores=sum(1 for core in layout.cores if core.cpus & allowed) or None,
    )


def _text(value: object) -> str | None:
    return value.strip("\0 ") or None if isinstance(value, str) else None


def _numbers(identifier: str | None) -> tuple[int | None, int | None, int | None]:
    match = _IDENTIFIER.search(identifier or "")
    return (int(match[1]), int(match[2]), int(match[3])) if match else (None, None, None)


def _flags(features: frozenset[str]) -> frozenset[str]:
    """Return the flags; Windows has no bit for FMA, and every core with AVX2 has it."""
    return features | {"fma"} if "avx2" in features else features


def _allowed(api: WindowsApi, layout: _Layout) -> frozenset[tuple[int, int]]:
    every = frozenset().union(*(core.cpus for core in layout.cores)) if layout.cores else frozenset()
    masked = {(group, bit) for group, mask in api.group_affinity.items() for bit in _bits(mask)}
    return frozenset(every & masked or every)


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(64) if mask >> bit & 1]


def _kinds(cores: list[_Core], allowed: frozenset[tuple[int, int]]) -> tuple[CoreReading, ...]:
    """Return the cores by efficiency class: the higher the faster; one class is no hybrid."""
    classes = sorted({core.efficiency_class for core in cores}, reverse=True)
    found = []
    for number, of_class in enumerate(classes):
        own = [core for core in cores if core.efficiency_class == of_class]
        kind = CoreKind.PERFORMANCE if number == 0 else CoreKind.EFFICIENCY
        found.append(
            CoreReading(
                kind=kind if len(classes) > 1 else None, physical_cores=len(own),
                threads=sum(core.threads for core in own),
                allowed_cores=sum(1 for core in own if core.cpus & allowed),
            )
        )  # fmt: skip
    return tuple(found)


def _caches(layout: _Layout) -> tuple[CacheFacts, ...]:
    return tuple(
        CacheFacts(
            level=level, kind=kind, size_bytes=size, instances=len(shared), threads_sharing=max(shared)
        )
        for (level, kind, size), shared in sorted(layout.caches.items())
    )


def parse_processor_information(data: bytes) -> _Layout:
    """Return cores, packages, nodes and caches of the records; a broken record ends the list.

    Layout of SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX: winnt.h.
    """
    layout = _Layout([], 0, 0, {})
    sockets = nodes = 0
    for relation, body in _records(data):
        if relation == _CORE:
            cpus = _cpus(body, masks_at=24, count_at=22)
            if cpus:
                layout.cores.append(_Core(len(cpus), body[1], cpus))
        elif relation == _PACKAGE:
            sockets += 1
        elif relation == _NODE:
            nodes += 1
        elif relation == _CACHE:
            _add_cache(layout, body)
    return layout._replace(sockets=sockets, nodes=nodes)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER <= len(data):
        relation, size = struct.unpack_from("<II", data, at)
        if size < _HEADER or at + size > len(data):
            return
        yield relation, data[at + _HEADER : at + size]
        at += size


def _cpus(body: bytes, *, masks_at: int, count_at: int) -> frozenset[tuple[int, int]]:
    """Return (group, number) of the CPUs in a record's GROUP_AFFINITY list."""
    if len(body) < masks_at:
        return frozenset()
    (count,) = struct.unpack_from("<H", body, count_at)
    found: set[tuple[int, int]] = set()
    for number in range(count or 1):
        at = masks_at + number * _GROUP_BYTES
        if at + _GROUP_BYTES > len(body):
            break
        mask, group = struct.unpack_from("<QH", body, at)
        found.update((group, bit) for bit in _bits(mask))
    return frozenset(found)


def _add_cache(layout: _Layout, body: bytes) -> None:
    """Add a CACHE_RELATIONSHIP: level, associativity, line, size, type, 18 reserved, count, masks."""
    if len(body) < 48:  # noqa: PLR2004 - the fixed part of the structure
        return
    level, _, _, size, kind = struct.unpack_from("<BBHII", body, 0)
    cpus = _cpus(body, masks_at=32, count_at=30)
    if 0 < level <= _MOST_LEVEL and 0 < size < _MOST_CACHE_BYTES and kind in _CACHE_KINDS:
        layout.caches.setdefault((level, _CACHE_KINDS[kind], size), []).append(len(cpus) or 1)
