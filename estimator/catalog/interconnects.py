"""Interconnect profiles to interconnects, and which one joins devices of a kind by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.catalog.catalogue import current_catalogue
from estimator.errors import InputError, suggestion
from estimator.hardware.system import Interconnect
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.catalog.sources import Sources
    from estimator.hardware.device import Device

_US = 1e-6
_BY_PEER_LINK = {
    "NVLink 1": "nvlink1", "NVLink 2": "nvlink2", "NVLink 3": "nvlink3-nvswitch",
    "NVLink 4": "nvlink4-nvswitch", "NVLink 5": "nvlink5-nvswitch", "Infinity Fabric": "infinity-fabric-3",
    "24 x 100 GbE RoCE": "gaudi2-roce", "24 x 200 GbE RoCE": "gaudi3-roce", "HCCS": "ascend-hccs",
    "NeuronLink 2": "neuronlink-2", "ICI v2": "tpu-v2-ici", "ICI v3": "tpu-v3-ici", "ICI v4": "tpu-v4-ici",
    "ICI v5e": "tpu-v5e-ici", "ICI v5p": "tpu-v5p-ici", "ICI v6e": "tpu-v6e-ici",
}  # fmt: skip
_PCIE = {1: "pcie3", 2: "pcie3", 3: "pcie3", 4: "pcie4", 5: "pcie5"}
_OWN = {
    "a800-sxm-80gb": "nvlink3-a800", "h800-sxm": "nvlink4-h800", "v100-sxm3-32gb": "nvlink2-nvswitch",
    "gb200": "nvlink5-nvl72", "gb300": "nvlink5-nvl72", "mi250x": "infinity-fabric-2",
    "mi350x": "infinity-fabric-4", "mi355x": "infinity-fabric-4",
}  # fmt: skip


def build_interconnect(record: Mapping[str, Any], sources: Sources) -> Interconnect:
    """Make an interconnect of a checked profile."""
    return Interconnect(
        id=record["id"],
        name=record["name"],
        alpha_s=record["alpha_us"] * _US,
        alpha_per_device_s=record.get("alpha_per_device_us", 0.0) * _US,
        bus_bytes_per_s=record["bus_gb_per_s"] * 1e9,
        ramp=record.get("ramp", 0.0),
        bus_by_devices=tuple(
            (int(devices), rate * 1e9) for devices, rate in record.get("bus_gb_per_s_by_devices", {}).items()
        ),
        domain=record.get("domain"),
        provenance=sources.of(record, "bus_gb_per_s"),
    )


def load_interconnect(name: str) -> Interconnect:
    """Return the interconnect of that id, alias or name; InputError with the nearest name otherwise."""
    catalogue = current_catalogue()
    wanted = name.strip().lower().replace(" ", "-")
    known = catalogue.records.interconnects
    for id_, record in known.items():
        names = {id_, record["name"].lower().replace(" ", "-"), *record.get("aliases", ())}
        if wanted in names:
            return build_interconnect(record, catalogue.sources)
    raise InputError(f"unknown interconnect {name!r}", hint=suggestion(wanted, known))


def all_interconnects() -> tuple[Interconnect, ...]:
    """Return every interconnect, in the order of their ids."""
    catalogue = current_catalogue()
    records = catalogue.records.interconnects
    return tuple(build_interconnect(records[id_], catalogue.sources) for id_ in sorted(records))


def usual_interconnect(device: Device) -> tuple[Interconnect, Assumption] | None:
    """Return what usually joins such devices within a host, as an assumption; None where unknown.

    SXM and OAM modules are joined by their own links, cards by PCIe (a bridge between two is an extra).
    """
    name = _OWN.get(device.id)
    module = device.form_factor in {"sxm", "oam", "cloud"} or device.id.startswith("v100-dgxs")
    if name is None and module and device.peer_link is not None:
        name = _BY_PEER_LINK.get(device.peer_link.name)
    if name is None and device.pcie is not None:
        name = _PCIE.get(int(device.pcie.name.removeprefix("PCIe ")[0]))
    if name is None:
        return None
    found = load_interconnect(name)
    why = f"what usually joins {device.name} within a host"
    return found, Assumption(what="interconnect", value=found.name, why=why)


def bridge_of(device: Device) -> Interconnect | None:
    """Return the bridge that joins two cards of a kind, None for cards that take none."""
    if device.peer_link is None or device.form_factor in {"sxm", "oam", "cloud"}:
        return None
    compute_card = device.id.startswith(("a100", "a800", "a30"))
    name = {
        "NVLink 2": "nvlink-bridge-2",
        "NVLink 3": "nvlink-bridge-a100" if compute_card else "nvlink-bridge-3",
        "NVLink 4": "nvlink-bridge-h100",
    }.get(device.peer_link.name)
    return load_interconnect(name) if name else None
