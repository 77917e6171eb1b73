"""From what a user names (``2x RTX 4090``, this machine) to systems of devices and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.catalog.calibration import load_interconnects
from estimator.catalog.lookup import resolve_device
from estimator.errors import InputError, suggestion
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.system import System
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.hardware.device import Device
    from estimator.hardware.system import Interconnect

_GENERATION = re.compile(r"(\d)")
_LOCAL = re.compile(r"cpu|here|this-cpu|(?:cuda|gpu)(?::(?P<index>\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSystem:
    """A system with what was taken for granted in reading its name."""

    system: System
    assumptions: tuple[Assumption, ...] = ()


def named_system(
    spec: str, *, count: int | None, link: str | None, here: Sequence[Device] = ()
) -> NamedSystem:
    """Return the system a user means; ``here`` are this host's devices, which ``cpu`` and ``cuda:0`` name.

    A count in the name (``4x V100``) multiplies ``count``.
    """
    local = _local(spec, here)
    if local is not None:
        return _joined(local, count or 1, link, ())
    resolution = resolve_device(spec)
    return _joined(resolution.device, resolution.count * (count or 1), link, resolution.assumptions)


def is_local(spec: str) -> bool:
    """Tell whether a name means a device of this machine, whatever it has."""
    return _LOCAL.fullmatch(spec.strip().lower()) is not None


def local_system(device: Device, *, count: int | None, link: str | None) -> NamedSystem:
    """Return a system of one of this host's devices."""
    return _joined(device, count or 1, link, ())


def _local(spec: str, here: Sequence[Device]) -> Device | None:
    match = _LOCAL.fullmatch(spec.strip().lower())
    if match is None:
        return None
    gpus = [device for device in here if device.kind is DeviceKind.GPU]
    if not match.group().startswith(("cuda", "gpu")):
        cpus = [device for device in here if device.kind is DeviceKind.CPU]
        if not cpus:
            raise InputError(f"{spec!r}: this machine's CPU could not be read", hint="see estimator detect")
        return cpus[0]
    index = int(match.group("index") or 0)
    if index >= len(gpus):
        raise InputError(
            f"{spec!r}: this machine has {len(gpus)} GPUs that can be predicted for",
            hint="see estimator detect, or name a device of the catalogue",
        )
    return gpus[index]


def _joined(device: Device, count: int, link: str | None, assumptions: tuple[Assumption, ...]) -> NamedSystem:
    if count == 1:
        return NamedSystem(system=System(device=device), assumptions=assumptions)
    within, assumed = _link(device, count, link)
    return NamedSystem(
        system=System(device=device, count=count, within=within), assumptions=(*assumptions, *assumed)
    )


def _link(device: Device, count: int, link: str | None) -> tuple[Interconnect, tuple[Assumption, ...]]:
    """Return the link asked for, or the one such devices usually have, which is then said."""
    links = load_interconnects()
    if link is not None:
        if link.lower() not in links:
            raise InputError(
                f"unknown link {link!r}",
                hint=suggestion(link, links) or f"known are {', '.join(sorted(links))}",
            )
        return links[link.lower()], ()
    chosen = links[_usual_link(device)]
    assumed = Assumption(
        what=f"link between the {count} devices",
        value=chosen.name,
        why=f"what {device.name} usually has; change it with --link",
    )
    return chosen, (assumed,)


def _usual_link(device: Device) -> str:
    """Return NVLink of the device's generation where it has one, else PCIe, else 10 Gbit/s Ethernet."""
    if device.kind is DeviceKind.CPU:
        return "ethernet-10g"
    for interface, prefix in ((device.peer_link, "nvlink"), (device.pcie, "pcie")):
        found = _GENERATION.search(interface.name) if interface else None
        if interface is None or found is None or prefix not in interface.name.lower():
            continue
        if prefix == "nvlink" and device.vendor == "nvidia" and "geforce" in device.name.lower():
            return "nvlink-bridge"
        generation = max(3, min(int(found.group(1)), 5)) if prefix == "pcie" else int(found.group(1))
        return f"{prefix}{generation}"
    return "pcie3"
