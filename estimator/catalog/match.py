"""Whether a detected device is one of the catalogue: strictly, with the reason when it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.catalog.catalogue import current_catalogue
from estimator.catalog.names import without_memory, words

if TYPE_CHECKING:
    from estimator.catalog.catalogue import Catalogue
    from estimator.hardware.device import Device

_LAPTOP_WORDS = frozenset({"laptop", "maxq", "mobile"})
# Drivers report a little less than the nominal memory (reserved, ECC), never half or double.
_MEMORY_LOW, _MEMORY_HIGH = 0.85, 1.08


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The device of the catalogue that was recognised, or None with the reason."""

    device: Device | None
    reason: str


def match_detected(
    name: str,
    pci_id: str | None = None,
    *,
    memory_bytes: int | None = None,
    units: float | None = None,
) -> Device | None:
    """Return the device that a driver's name and PCI id (``10de:1b06``) identify, or None."""
    return explain_match(name, pci_id, memory_bytes=memory_bytes, units=units).device


def explain_match(
    name: str,
    pci_id: str | None = None,
    *,
    memory_bytes: int | None = None,
    units: float | None = None,
    laptop_too: bool = False,
) -> Match:
    """Match strictly, and say why it failed.

    The name must be an id, name or alias (memory aside); a PCI id the catalogue knows must agree with the
    name, and decides where the name leaves a choice; memory and units, where given, must be the device's.
    ``laptop_too``: the name can be that of a laptop part as well.
    """
    catalogue = current_catalogue()
    by_name = _named(catalogue, name)
    by_pci = catalogue.by_pci.get(pci_id.lower(), set()) if pci_id else set()
    if not by_name & by_pci and (laptops := _sharing_the_name(catalogue, name, by_pci)):
        by_name = laptops
    elif laptop_too and not by_pci:
        by_name |= _laptop_parts(catalogue, name)
    if by_name and by_pci and not by_name & by_pci:
        told = f"{name!r} is {', '.join(sorted(by_name))}, PCI id {pci_id} is {', '.join(sorted(by_pci))}"
        return Match(device=None, reason=told)
    candidates = by_name & by_pci or by_name or by_pci
    if not candidates:
        return Match(device=None, reason=f"{name!r} is not in the catalogue")
    fitting = {id_ for id_ in candidates if _fits(catalogue.device(id_), memory_bytes, units)}
    if len(fitting) == 1:
        return Match(device=catalogue.device(fitting.pop()), reason="")
    if fitting:
        return Match(device=None, reason=f"{name!r} can be any of {', '.join(sorted(fitting))}")
    listed = ", ".join(sorted(candidates))
    return Match(device=None, reason=f"memory or number of units differ from those of {listed}")


def _named(catalogue: Catalogue, name: str) -> set[str]:
    """Return the devices of that name, whatever memory they have, or all variants of an open name."""
    wanted = words(name)
    if not wanted:
        return set()
    found = set(catalogue.exact.get(wanted, ()))
    for id_ in catalogue.loose.get(wanted, ()):
        record = catalogue.records.devices[id_]
        memory = record.get("memory_gib")
        bare = without_memory(wanted, memory)
        names = (record["name"], *record.get("aliases", ()))
        if any(without_memory(words(known), memory) == bare for known in names):
            found.add(id_)
    if not found and wanted in catalogue.open:
        found = {id_ for known, ids in catalogue.exact.items() if set(wanted) <= set(known) for id_ in ids}
    return found


def _sharing_the_name(catalogue: Catalogue, name: str, ids: set[str]) -> set[str]:
    """Return those of ``ids`` whose name says all that ``name`` says: old drivers name laptops so."""
    wanted = set(words(name))
    records = catalogue.records.devices
    return {id_ for id_ in ids if wanted and wanted <= set(words(records[id_]["name"]))}


def _laptop_parts(catalogue: Catalogue, name: str) -> set[str]:
    """Return the laptop parts whose name is this one and a word that says so."""
    wanted = set(words(name))
    return {
        id_ for id_, record in catalogue.records.devices.items()
        if record.get("form_factor") == "laptop" and wanted
        and wanted <= (own := set(words(record["name"]))) and own - wanted <= _LAPTOP_WORDS
    }  # fmt: skip


def _fits(device: Device, memory_bytes: int | None, units: float | None) -> bool:
    if memory_bytes is not None and device.memory_bytes is not None and not device.unified_memory:
        share = memory_bytes / device.memory_bytes
        if not _MEMORY_LOW <= share <= _MEMORY_HIGH:
            return False
    return units is None or units == device.units
