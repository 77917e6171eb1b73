"""From what a user names (``2x RTX 4090``, this machine) to systems of devices and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.catalog.interconnects import bridge_of, load_interconnect, usual_interconnect
from estimator.catalog.lookup import resolve_device
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.system import System
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.hardware.device import Device
    from estimator.hardware.system import Interconnect

_BETWEEN_HOSTS = "ethernet-10g"
_BRIDGE = "nvlink-bridge"
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
        return joined_system(local, count or 1, link, ())
    resolution = resolve_device(spec)
    return joined_system(resolution.device, resolution.count * (count or 1), link, resolution.assumptions)


def is_local(spec: str) -> bool:
    """Tell whether a name means a device of this machine, whatever it has."""
    return _LOCAL.fullmatch(spec.strip().lower()) is not None


def local_system(device: Device, *, count: int | None, link: str | None) -> NamedSystem:
    """Return a system of one of this host's devices."""
    return joined_system(device, count or 1, link, ())


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


def joined_system(
    device: Device, count: int, link: str | None, assumptions: tuple[Assumption, ...]
) -> NamedSystem:
    """Return ``count`` devices of a kind on the link named, or on the one they usually have."""
    if count == 1:
        return NamedSystem(system=System(device=device), assumptions=assumptions)
    within, assumed = _link(device, count, link)
    return NamedSystem(
        system=System(device=device, count=count, within=within), assumptions=(*assumptions, *assumed)
    )


def _link(device: Device, count: int, link: str | None) -> tuple[Interconnect, tuple[Assumption, ...]]:
    """Return the link asked for, or the one such devices usually have, which is then said."""
    if link is not None and link != _BRIDGE:
        return load_interconnect(link), ()
    if device.kind is DeviceKind.CPU:
        chosen = load_interconnect(_BETWEEN_HOSTS)
        why = "CPUs of several hosts; change it with --link"
        return chosen, (Assumption(what="interconnect", value=chosen.name, why=why),)
    if link is not None and count == 2 and (bridge := bridge_of(device)) is not None:  # noqa: PLR2004  (a pair)
        return bridge, ()
    usual = usual_interconnect(device)  # a ring of more cards than two crosses PCIe
    if usual is None:
        raise InputError(
            f"nothing says what joins {count} x {device.name}", hint="name a link with --link, e.g. pcie4"
        )
    return usual[0], (usual[1],)
