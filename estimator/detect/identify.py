"""Which microarchitecture a processor is: by its numbers first, checked against its instruction sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.uarch_facts import MICROARCHITECTURES, TELLING, Microarchitecture
from estimator.detect.uarch_ids import ARM_PARTS, X86_RANGES
from estimator.provenance import Basis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.detect.ledger import Ledger
    from estimator.detect.reading import CpuReading

# Names an emulator gives to a processor whose numbers mean nothing.
_EMULATED = re.compile(r"QEMU Virtual|Common (?:32-bit )?KVM|QEMU TCG|Virtual CPU version", re.IGNORECASE)
_FIELD = "microarchitecture"


class Identity(NamedTuple):
    """The core design, and that of the efficiency cores on a hybrid; None is "not known"."""

    performance: Microarchitecture | None = None
    efficiency: Microarchitecture | None = None


def identify(reading: CpuReading, ledger: Ledger) -> Identity:
    """Return the core designs of a processor; what does not fit or stays unknown becomes a finding."""
    identity = _by_name(reading, ledger) or _by_part(reading, ledger) or _by_family(reading, ledger)
    if identity is None:
        identity = _by_archspec(reading, ledger) or Identity()
    if identity.performance is None:
        ledger.finding(
            f"microarchitecture of {reading.model_name or 'the processor'} not known",
            f"its numbers ({_numbers(reading)}) are not in the table of core designs",
            "run the probe to measure what the cores do, or report it with `estimator doctor`",
        )
    return identity


def _numbers(reading: CpuReading) -> str:
    part = next((core.part for core in reading.cores if core.part), None)
    if part:
        return f"implementer {part[0]:#x}, part {part[1]:#x}"
    return f"{reading.vendor or 'no vendor'}, family {reading.family}, model {reading.model}"


def _by_name(reading: CpuReading, ledger: Ledger) -> Identity | None:
    """Identify a design that an operating system names in words."""
    design = MICROARCHITECTURES.get(reading.design or "")
    if design is None:
        return None
    ledger.source(_FIELD, "name of the processor")
    return Identity(design, MICROARCHITECTURES.get(f"{design.id}-e"))


def _by_part(reading: CpuReading, ledger: Ledger) -> Identity | None:
    """Identify Arm cores by implementer and part; the widest of several designs counts as performance."""
    parts = sorted({core.part for core in reading.cores if core.part in ARM_PARTS})
    designs = [MICROARCHITECTURES[ARM_PARTS[part]] for part in parts]
    if not designs:
        return None
    ledger.source(_FIELD, "CPU implementer and part")
    large = [design for design in designs if not design.efficiency]
    small = [design for design in designs if design.efficiency]
    return Identity(_widest(large or small), _widest(small) if large and small else None)


def _widest(designs: Iterable[Microarchitecture]) -> Microarchitecture:
    return max(designs, key=lambda d: (d.datapath_bits or 0) * max(d.pipes.values(), default=0))


def _by_family(reading: CpuReading, ledger: Ledger) -> Identity | None:
    """Identify an x86 core by vendor, family, model and stepping, and hold its flags against it."""
    if reading.model_name and _EMULATED.search(reading.model_name):
        return None
    found = next((r for r in X86_RANGES if _matches(r, reading)), None)
    telling = reading.flags & TELLING
    if found is None:
        return None
    design = MICROARCHITECTURES[found.performance]
    if telling <= design.isa:
        ledger.source(_FIELD, "CPUID family, model and stepping")
        return Identity(design, MICROARCHITECTURES.get(found.efficiency or ""))
    return Identity(_contradicted(design, telling, reading, ledger))


def _matches(candidate: object, reading: CpuReading) -> bool:
    vendor, family, models, _, _, steppings = candidate  # type: ignore[misc]
    return bool(
        (vendor, family) == (reading.vendor, reading.family)  # type: ignore[has-type]
        and reading.model in models  # type: ignore[has-type]
        and (reading.stepping or 0) in steppings  # type: ignore[has-type]
    )


def _contradicted(
    named: Microarchitecture, telling: frozenset[str], reading: CpuReading, ledger: Ledger
) -> Microarchitecture | None:
    """Return the oldest design of the vendor that has these instruction sets: a flag cannot be faked up."""
    able = [d for d in MICROARCHITECTURES.values() if d.vendor == named.vendor and telling <= d.isa]
    least = min((len(d.isa) for d in able), default=0)
    able = [d for d in able if len(d.isa) == least]
    xeon = "xeon" in (reading.model_name or "").lower()
    able = [d for d in able if d.server is None or d.server == xeon] or able
    alike = {(d.datapath_bits, tuple(sorted(d.pipes.items())), d.matrix_unit) for d in able}
    truth = able[0] if len(alike) == 1 else None
    extra = ", ".join(sorted(telling - named.isa))
    ledger.finding(
        f"the processor's numbers say {named.name}, its instruction sets say otherwise",
        f"family {reading.family} model {reading.model} has no {extra}: a hypervisor shows other numbers",
        (f"taken as {truth.name} or later" if truth else "taken as unknown")
        + "; the probe measures the rates",
    )
    if truth:
        ledger.source(
            _FIELD, "instruction sets", basis=Basis.DERIVED, note=f"family and model say {named.name}"
        )
    return truth


def _by_archspec(reading: CpuReading, ledger: Ledger) -> Identity | None:
    """Ask archspec (optional) which designs the instruction sets allow; a name only, no rates."""
    name = archspec_name(reading)
    if name is None:
        return None
    known = MICROARCHITECTURES.get(name.replace("_", "-"))
    ledger.source(_FIELD, "archspec", basis=Basis.DERIVED, note="by instruction sets, not by numbers")
    ledger.finding(
        f"microarchitecture taken from its instruction sets: {name} or a later one",
        f"its numbers ({_numbers(reading)}) are not in the table of core designs",
        "run the probe to measure what the cores do, or report it with `estimator doctor`",
    )
    title = f"{known.name if known else name} or later"
    return Identity(
        Microarchitecture(id=known.id if known else name, name=title, vendor=reading.vendor or "")
    )


def archspec_name(reading: CpuReading) -> str | None:
    """Return archspec's best design for the vendor and flags, None without archspec or a design."""
    if reading.vendor is None or not reading.flags:
        return None
    try:
        from archspec.cpu import TARGETS
    except ImportError:
        return None
    fitting = [
        target
        for target in TARGETS.values()
        if target.vendor == reading.vendor and target.features and target.features <= reading.flags
    ]
    best = max(fitting, key=lambda t: (len(t.ancestors), len(t.features)), default=None)
    return str(best.name) if best is not None else None
