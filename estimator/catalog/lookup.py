"""Finding a device by what people and drivers call it; never a silent guess."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.catalog import architectures as finders
from estimator.catalog.catalogue import current_catalogue
from estimator.catalog.cpu_parts import of_sockets, slice_of
from estimator.catalog.names import split_count, words
from estimator.catalog.suggest import unknown_device
from estimator.errors import InputError, suggestion
from estimator.hardware.architecture import DeviceKind
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.catalog.catalogue import Catalogue
    from estimator.catalog.records import Record
    from estimator.hardware.architecture import Architecture
    from estimator.hardware.device import Device

_MOST_CANDIDATES = 6
_MOST_DEVICES = 1_000_000
_PCI_ID = re.compile(r"(?:0x)?([0-9a-f]{4}):(?:0x)?([0-9a-f]{4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a name stands for: a device, how many, and what was taken for granted in reading it."""

    device: Device
    count: int = 1
    assumptions: tuple[Assumption, ...] = ()


def load_device(name: str) -> Device:
    """Return the one device a name stands for: id, alias, NVML name, PCI id or one-GPU cloud instance.

    Raises InputError for an unknown name (with the nearest known one), for one that leaves the variant
    open (with the variants) and for one that stands for several devices.
    """
    resolution = resolve_device(name, strict=True)
    if resolution.count != 1:
        raise InputError(
            f"{name!r} is {resolution.count} x {resolution.device.name}, one device is asked for here"
        )
    return resolution.device


def parse_device_spec(spec: str) -> tuple[int, Device]:
    """Read ``2x RTX 4090``, ``aws:p3.16xlarge`` or ``RTX 4090`` as count and device, as strict as above.

    A count before a CPU means sockets of one host: one device.
    """
    resolution = resolve_device(spec, strict=True)
    return resolution.count, resolution.device


def resolve_device(spec: str, *, strict: bool = False) -> Resolution:
    """Read a device specification; where it leaves a variant open, take the usual one and say so.

    With ``strict`` such names are an InputError that lists the variants.
    """
    catalogue = current_catalogue()
    if not spec.strip():
        raise InputError("no device is named", hint="'estimator devices list' shows the known ones")
    found = _resolve_name(catalogue, spec, strict=strict)
    if found is not None:
        return found
    split = split_count(spec)
    if split is None:
        raise unknown_device(catalogue, spec)
    count, name = split
    if not 1 <= count <= _MOST_DEVICES:
        raise InputError(f"{spec!r} asks for {count} devices", hint=f"between 1 and {_MOST_DEVICES}")
    one = _resolve_name(catalogue, name, strict=strict)
    if one is None:
        raise unknown_device(catalogue, name)
    if one.device.kind is DeviceKind.CPU:
        return replace(one, device=of_sockets(one.device, count))
    return replace(one, count=one.count * count)


def _resolve_name(catalogue: Catalogue, name: str, *, strict: bool) -> Resolution | None:
    lowered = name.strip().lower()
    if lowered in catalogue.records.devices:
        return Resolution(device=catalogue.device(lowered))
    pci = _PCI_ID.fullmatch(lowered)
    if pci is not None:
        return _of_pci_id(catalogue, name, f"{pci[1]}:{pci[2]}")
    cloud, _, size = lowered.partition(":")
    if cloud in catalogue.clouds:
        return _instance(catalogue, cloud, size.strip())
    wanted = words(name)
    if wanted in catalogue.open and wanted not in catalogue.exact:
        return _open(catalogue, name, catalogue.open[wanted], strict=strict)
    ids = catalogue.exact.get(wanted) or catalogue.short.get(wanted) or catalogue.loose.get(wanted)
    return _only(catalogue, name, ids) if ids else None


def _of_pci_id(catalogue: Catalogue, name: str, pci_id: str) -> Resolution:
    """Return the device of a PCI id, written ``10de:1b06`` or ``0x10de:0x1b06``."""
    if pci_id not in catalogue.by_pci:
        raise InputError(
            f"no device of the catalogue has the PCI id {name.strip()!r}",
            hint="'estimator devices list' shows the known ones; 'estimator devices add' takes your own",
        )
    return _only(catalogue, name, catalogue.by_pci[pci_id])


def _only(catalogue: Catalogue, name: str, ids: Iterable[str]) -> Resolution:
    """Return the only device of a set, or refuse to choose."""
    ids = sorted(ids)
    if len(ids) > 1:
        raise InputError(f"{name!r} can be any of {', '.join(ids)}", hint="say which one")
    return Resolution(device=catalogue.device(ids[0]))


def variants(name: str) -> tuple[str, ...]:
    """Return the ids of all devices whose names say what ``name`` says and more."""
    catalogue = current_catalogue()
    wanted = set(words(name))
    ids = {id_ for known, ids in catalogue.exact.items() if wanted <= set(known) for id_ in ids}
    return tuple(sorted(ids))


def _open(catalogue: Catalogue, name: str, id_: str, *, strict: bool) -> Resolution:
    device = catalogue.device(id_)
    others = [other for other in variants(name) if other != id_]
    if strict:
        listed = ", ".join([id_, *others][:_MOST_CANDIDATES])
        raise InputError(f"{name!r} leaves the variant open", hint=f"say which one: {listed}")
    rest = f"; others: {', '.join(others[:_MOST_CANDIDATES])}" if others else ""
    taken = Assumption(
        what=f"which {name.strip()}", value=device.name, why=f"the name leaves the variant open{rest}"
    )
    return Resolution(device=device, assumptions=(taken,))


def _instance(catalogue: Catalogue, cloud: str, size: str) -> Resolution:
    """Return the devices of a cloud instance; of a CPU instance the slice of the host it rents."""
    key = f"{cloud}:{re.sub('[ _]+', '-', size).removeprefix('standard-')}"
    record = catalogue.records.instances.get(key)
    if record is None:
        hint = (
            suggestion(key, catalogue.records.instances)
            or f"known clouds are {', '.join(sorted(catalogue.clouds))}"
        )
        raise InputError(f"unknown cloud instance {key!r}", hint=hint)
    device = catalogue.device(record["device"])
    if device.kind is DeviceKind.CPU:
        return _cpu_instance(key, device, record)
    return Resolution(device=device, count=record.get("count", 1))


def _cpu_instance(key: str, device: Device, record: Record) -> Resolution:
    sliced = slice_of(device, threads=record["vcpus"], what=key)
    assumed = [
        Assumption(what=f"processor of {key}", value=device.name, why=record["note"])
        for _ in range(1 if "note" in record else 0)
    ]
    if sliced.bandwidth_bytes_per_s != device.bandwidth_bytes_per_s:
        assumed.append(
            Assumption(
                what=f"memory bandwidth of {key}",
                value=f"{(sliced.bandwidth_bytes_per_s or 0) / 1e9:.0f} GB/s",
                why="an instance that is a slice of a host shares its memory channels with neighbours",
            )
        )
    return Resolution(device=sliced, assumptions=tuple(assumed))


def all_devices() -> tuple[Device, ...]:
    """Return every device in the catalogue, in the order of their ids."""
    catalogue = current_catalogue()
    return tuple(catalogue.device(id_) for id_ in sorted(catalogue.records.devices))


def load_architecture(name: str) -> Architecture:
    """Return the architecture of that id, name or alias."""
    known = current_catalogue().architectures
    found = known.get(name) or finders.by_name(known.values(), name)
    if found is None:
        raise InputError(f"unknown architecture {name!r}", hint=suggestion(name, known))
    return found


def architecture_for_target(
    target: str, *, geforce: bool | None = None, tensor_cores: bool | None = None
) -> Architecture | None:
    """Return the architecture of a capability (``8.6``) or processor (``gfx90a``); see finders."""
    known = current_catalogue().architectures.values()
    return finders.for_target(known, target, geforce=geforce, tensor_cores=tensor_cores)


def architecture_for_nvidia(target: str, name: str) -> Architecture | None:
    """Return the architecture of an NVIDIA GPU by compute capability and NVML name."""
    return finders.for_nvidia(current_catalogue().architectures.values(), target, name)


def cpu_architecture(
    vendor: str, family: int, model: int, stepping: int | None = None
) -> Architecture | None:
    """Return the architecture of an x86 CPU (``intel`` or ``amd``) by what CPUID says."""
    known = current_catalogue().architectures.values()
    return finders.for_cpuid(known, vendor, family, model, stepping)


def arm_architecture(implementer: str, part: str) -> Architecture | None:
    """Return the architecture of an ARM core by implementer and part (``0x41``, ``0xd0c``)."""
    return finders.for_arm_part(current_catalogue().architectures.values(), implementer, part)
