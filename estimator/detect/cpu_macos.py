"""The processors and memory of a Mac, from ``sysctl``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.detect.clocks import clock_in_name, plausible
from estimator.detect.facts import CacheFacts, CoreKind
from estimator.detect.memory import memory_facts
from estimator.detect.reading import CoreReading, CpuReading
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.facts import MemoryFacts
    from estimator.detect.ledger import Ledger
    from estimator.detect.seams import Seams

COMMAND = ("sysctl", "hw", "machdep.cpu", "kern.hv_vmm_present")
_DEADLINE_S = 2.0
_APPLE = re.compile(r"Apple M([0-9]+)")
# macOS' names of instruction sets in Linux' spelling.
_RENAMED = {
    "avx1.0": "avx", "sse4.2": "sse4_2", "avx512vnni": "avx512_vnni", "avx512vbmi2": "avx512_vbmi2",
    "avx512bf16": "avx512_bf16",
}  # fmt: skip
_ARM_FLAGS = {"FEAT_BF16": "bf16", "FEAT_I8MM": "i8mm", "FEAT_DotProd": "asimddp", "FEAT_FP16": "asimdhp",
              "FEAT_SME": "sme"}  # fmt: skip
_CACHES = (("hw.l1dcachesize", 1, "data"), ("hw.l1icachesize", 1, "instruction"),
           ("hw.l2cachesize", 2, "unified"), ("hw.l3cachesize", 3, "unified"))  # fmt: skip


def sysctl(seams: Seams) -> Mapping[str, str]:
    """Return what sysctl answers about hardware, empty where it does not."""
    return _native(seams, _values(seams.command(COMMAND, _DEADLINE_S)))


def _native(seams: Seams, values: dict[str, str]) -> dict[str, str]:
    """Return the real chip's answers where a translated (Rosetta) process sees "VirtualApple"."""
    if "VirtualApple" not in values.get("machdep.cpu.brand_string", ""):
        return values
    native = _values(seams.command(("arch", "-arm64", *COMMAND), _DEADLINE_S))
    hidden = {key for key in values if key.startswith("machdep.cpu.")}
    return native or {key: value for key, value in values.items() if key not in hidden} | {
        "machdep.cpu.brand_string": "Apple (name hidden by Rosetta)",
        "hw.optional.arm64": "1",
    }


def macos_memory(values: Mapping[str, str], ledger: Ledger) -> MemoryFacts:
    """Return the facts about a Mac's memory."""
    total = _positive(values, "hw.memsize")
    if total is None:
        ledger.finding(
            "size of main memory not known", "sysctl has no hw.memsize", "check `sysctl hw.memsize`"
        )
    else:
        ledger.source("total_bytes", "sysctl hw.memsize")
    return memory_facts(total, None, None, None, ledger)


def _values(text: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        key, colon, value = line.partition(":")
        key, equals, other = (key, colon, value) if colon else line.partition("=")
        if equals and other.strip():
            found.setdefault(key.strip(), other.strip())
    return found


def _positive(values: Mapping[str, str], key: str) -> int | None:
    number = parse_integer(values.get(key))
    return number if number is not None and number > 0 else None


def macos_reading(values: Mapping[str, str], ledger: Ledger) -> CpuReading:
    """Return what a Mac shows of its processors."""
    if not values:
        ledger.finding("nothing known about the processors", "sysctl gives no answer", "check `sysctl hw`")
    name = values.get("machdep.cpu.brand_string")
    design = _apple_design(name)
    arm = design is not None or values.get("hw.optional.arm64") == "1"
    physical, threads = _counts(values)
    for fact in ("physical_cores", "threads", "caches"):
        ledger.source(fact, "sysctl hw")
    virtual = {"1": True, "0": False}.get(values.get("kern.hv_vmm_present", ""))
    max_hz = _clock(values, ledger)
    return CpuReading(
        architecture="aarch64" if arm else "x86_64",
        model_name=name,
        vendor="Apple" if arm else values.get("machdep.cpu.vendor"),
        family=_positive(values, "machdep.cpu.family") or (6 if _is_intel(values) else None),
        model=parse_integer(values.get("machdep.cpu.model")),
        stepping=parse_integer(values.get("machdep.cpu.stepping")),
        design=design,
        flags=_flags(values, arm=arm),
        sockets=_positive(values, "hw.packages") or (1 if arm else None),
        cores=_cores(values, physical, threads),
        physical_cores=physical,
        threads=threads,
        caches=_caches(values),
        base_clock_hz=clock_in_name(name),
        max_clock_hz=max_hz,
        online_cpus=frozenset(range(threads or 0)),
        allowed_cpus=frozenset(range(threads or 0)),
        allowed_count=threads,
        allowed_cores=physical,
        virtualised=virtual,
    )


def _is_intel(values: Mapping[str, str]) -> bool:
    """Say whether an old record without a family is Intel's: all Macs with Intel inside are family 6."""
    return values.get("machdep.cpu.vendor") == "GenuineIntel"


def _apple_design(name: str | None) -> str | None:
    """Return the core of an ``Apple M2 Pro``; early systems said only ``Apple processor`` of the M1."""
    if name == "Apple processor":
        return "apple-m1"
    match = _APPLE.match(name or "")
    return f"apple-m{match[1]}" if match else None


def _counts(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    physical = _positive(values, "hw.physicalcpu") or _positive(values, "machdep.cpu.core_count")
    threads = (
        _positive(values, "hw.logicalcpu")
        or _positive(values, "hw.activecpu")
        or _positive(values, "machdep.cpu.thread_count")
        or _positive(values, "hw.ncpu")
    )
    return physical or _levels_total(values), threads


def _levels_total(values: Mapping[str, str]) -> int | None:
    counts = [_positive(values, f"hw.perflevel{level}.physicalcpu") for level in (0, 1)]
    return sum(count for count in counts if count) or None


def _cores(values: Mapping[str, str], physical: int | None, threads: int | None) -> tuple[CoreReading, ...]:
    """Return the cores by performance level: 0 is the faster one."""
    kinds = ((0, CoreKind.PERFORMANCE), (1, CoreKind.EFFICIENCY))
    counts = [(kind, _positive(values, f"hw.perflevel{level}.physicalcpu"), level) for level, kind in kinds]
    cores = tuple(
        CoreReading(
            kind=kind, physical_cores=count,
            threads=_positive(values, f"hw.perflevel{level}.logicalcpu") or count,
        )
        for kind, count, level in counts
        if count
    )  # fmt: skip
    if cores or physical is None:
        return cores
    return (CoreReading(kind=None, physical_cores=physical, threads=threads or physical),)


def _flags(values: Mapping[str, str], *, arm: bool) -> frozenset[str]:
    if arm:
        found = {flag for name, flag in _ARM_FLAGS.items() if values.get(f"hw.optional.arm.{name}") == "1"}
        return frozenset({"asimd", *found})
    keys = ("machdep.cpu.features", "machdep.cpu.leaf7_features", "machdep.cpu.extfeatures")
    words = " ".join(values.get(key, "") for key in keys).lower().split()
    return frozenset(_RENAMED.get(word, word) for word in words)


def _clock(values: Mapping[str, str], ledger: Ledger) -> float | None:
    """Return the highest clock; Apple's chips do not tell theirs."""
    for key in ("hw.cpufrequency_max", "hw.cpufrequency"):
        hz = plausible(float(_positive(values, key) or 0))
        if hz is not None:
            ledger.source("max_clock_hz", f"sysctl {key}")
            return hz
    ledger.finding(
        "clock of the cores not known", "sysctl has no hw.cpufrequency (Apple's chips do not tell)",
        "run `estimator detect --probe`: it measures the clock in a fraction of a second",
    )  # fmt: skip
    return None


def _caches(values: Mapping[str, str]) -> tuple[CacheFacts, ...]:
    line = _positive(values, "hw.cachelinesize")
    found = []
    for key, level, kind in _CACHES:
        size = _positive(values, f"hw.perflevel0.{key.removeprefix('hw.')}") or _positive(values, key)
        if size is not None:
            found.append(CacheFacts(level=level, kind=kind, size_bytes=size, instances=1, line_bytes=line))
    return tuple(found)
