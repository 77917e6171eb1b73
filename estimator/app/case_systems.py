"""From a measured row's hardware columns to a system of devices and links."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from estimator.app.systems import joined_system
from estimator.catalog.interconnects import load_interconnect
from estimator.catalog.labels import resolve_label
from estimator.errors import InputError
from estimator.hardware.system import System

if TYPE_CHECKING:
    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.hardware.device import Device
    from estimator.hardware.system import Interconnect

_PORTS = re.compile(r"(\d+) ?x ?(?:[^,:;+|]*?[^\d,:;+|])??(\d+) ?Gb")
_RATE = re.compile(r"(?<![\d.])(\d+) ?Gb")
_OTHER_USE = re.compile(r"\s*(?:Storage|Management)\b(?!\W*Compute)")  # networks that carry no gradients
_LISTED = re.compile(r"accelerator as listed: ([^;(]*\d+ ?GB[^;(]*)")  # the variant that a label leaves open
_RACK_LINK = "nvl72"
_NETWORKS = ((300, "infiniband-ndr", 400), (150, "infiniband-hdr", 200), (50, "infiniband-edr", 100),
             (20, "ethernet-25g", 25), (5, "ethernet-10g", 10))  # fmt: skip
_USUAL_PORTS = ((2022, "infiniband-ndr", 8), (2020, "infiniband-hdr", 8), (2016, "infiniband-edr", 4))
_OWN_NETWORK = {"gaudi2": "gaudi2-scale-out", "gaudi3": "gaudi3-scale-out", "ascend-910": "ascend-roce"}
_LOOSE = "ethernet-10g"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSystem:
    """A system, and what was taken for granted of it."""

    system: System
    assumptions: tuple[str, ...] = ()


def system_of(case: Case, tables: AliasTables) -> CaseSystem:
    """Return the devices and links of a case; raises InputError for an unknown device."""
    text = case.row.interconnect
    line = tables.search("links", text) if text else None
    link = (line["within"] if line else "") or None
    link = _RACK_LINK if "NVL72" in text else link
    nodes = case.nodes
    if listed := _LISTED.search(case.row.notes):
        with suppress(InputError):
            return _system(listed[1].strip(), case.count, nodes, link, text)
    return _system(case.row.device, case.count, nodes, link, text)


@lru_cache(maxsize=4096)
def _system(label: str, count: int, nodes: int, link: str | None, text: str) -> CaseSystem:
    found = resolve_label(label)
    if count * found.count == 1:
        return CaseSystem(
            system=System(device=found.device),
            assumptions=tuple(f"{a.what}: {a.value}" for a in found.assumptions),
        )
    named = joined_system(found.device, count * found.count, link, found.assumptions)
    said = tuple(f"{each.what}: {each.value}" for each in named.assumptions)
    within, hosts = named.system.within, nodes
    if within is not None and within.domain is not None and nodes < named.system.count:
        nodes = min(nodes, -(-named.system.count // within.domain))
    if nodes == 1:
        return CaseSystem(system=named.system, assumptions=said)
    between, guessed = _between(text, named.system.device, max(1, named.system.count // hosts))
    between = between.faster(hosts / nodes)  # a rack has the ports of all its hosts
    nodes = nodes if count % nodes == 0 else _dividing(count, nodes)
    return CaseSystem(
        system=replace(named.system, nodes=nodes, between=between),
        assumptions=(*said, f"network between hosts: {between.name}") if guessed else said,
    )


def _dividing(count: int, nodes: int) -> int:
    """Return the fewest nodes from ``nodes`` up that hold equal numbers of devices."""
    return next(n for n in range(nodes, count + 1) if count % n == 0)


def _between(text: str, device: Device, per_host: int) -> tuple[Interconnect, bool]:
    """Return the network of a host: by the rates that the row states, else what such hosts have."""
    if "cloud Ethernet" in text:
        return load_interconnect(_LOOSE), False
    per_port = per_host if "per GPU" in text or "NVL72" in text else 1
    if stated := _stated_rate(text.split("net:" if "net:" in text else "+", 1)[-1], per_port):
        return _ports(*stated), False
    if device.id in _OWN_NETWORK:
        return load_interconnect(_OWN_NETWORK[device.id]), True
    year = int(str(device.released)[:4]) if device.released else 0
    for since, name, ports in _USUAL_PORTS:
        if year >= since:
            return load_interconnect(name).faster(ports), True
    return load_interconnect(_LOOSE), True


def _stated_rate(network: str, plain: int) -> tuple[float, float] | None:
    """Return Gbit/s a port and ports of the fastest network that a text describes, None where of none.

    A rate alone stands for ``plain`` ports.
    """
    found: list[tuple[float, float]] = []
    for part in re.split(r"[,;|+]", network):
        if _OTHER_USE.match(part):
            continue
        if ports := _PORTS.search(part):
            found.append((float(ports[2]), float(ports[1])))
        elif rate := _RATE.search(part):
            found.append((float(rate[1]), float(plain)))
    return max(found, key=lambda each: each[0] * each[1], default=None)


def _ports(rate_gbit: float, count: float) -> Interconnect:
    """Return ``count`` ports of a rate; rates between the known ones scale the next lower link."""
    for least, name, nominal in _NETWORKS:
        if rate_gbit >= least:
            return load_interconnect(name).faster(count * rate_gbit / nominal)
    raise InputError(f"a network of {rate_gbit:g} Gbit/s is not known")
