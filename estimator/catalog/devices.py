"""Device profiles to devices: primitives in base units, peaks derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import CoreGroup, Device, Interface, derive_peaks
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.catalog.sources import Sources
    from estimator.hardware.architecture import Architecture

_MHZ = 1e6
_GIB = 2**30
_BITS = 8
_BYTES_A_CHANNEL = 8
# GB/s a lane and direction after line coding; PCI-SIG specifications.
_PCIE_GB_PER_S_A_LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563, 7: 15.125}
PEAKS_DERIVED = Provenance("units x FMA a clock x 2 x clock", Basis.DERIVED)
_PIN_DERIVED = "memory bus / 8 x transfer rate"
_CHANNELS_DERIVED = "channels x transfer rate x 8 bytes"
_BASE_CLOCK_NOTE = (
    "the clock with all cores busy under the widest instruction set is not published: base clock taken, "
    "so peaks are a lower bound"
)
_FIELD_OF_KEY = {
    "vendor": "vendor", "kind": "kind", "units": "units",
    "boost_clock_mhz": "clock_hz", "all_core_clock_mhz": "clock_hz",
    "base_clock_mhz": "base_clock_hz", "max_clock_mhz": "max_clock_hz",
    "matrix_clock_mhz": "matrix_clock_hz", "efficiency_cores": "efficiency_cores", "threads": "threads",
    "sockets": "sockets", "memory_gib": "memory_bytes", "memory_type": "memory_type",
    "bandwidth_gb_per_s": "bandwidth_bytes_per_s", "l2_mib": "cache_bytes", "caches_kib": "cache_bytes",
    "pcie": "pcie", "nvlink": "peer_link", "power_limit_w": "power_limit_w",
    "chips_per_board": "chips_per_board", "released": "released", "launch_price_usd": "launch_price_usd",
    "datasheet_peaks_tflops": "datasheet_peaks", "pci_ids": "pci_ids",
}  # fmt: skip


def build_device(
    record: Mapping[str, Any], architectures: Mapping[str, Architecture], sources: Sources
) -> Device:
    """Make a device of a checked profile."""
    architecture = architectures[record["architecture"]]
    efficiency_cores = _efficiency_cores(record, architectures)
    clock_hz = clock_mhz(record) * _MHZ
    matrix_clock_hz = _scaled(record.get("matrix_clock_mhz"), _MHZ)
    memory = record.get("memory_gib")
    return Device(
        id=record["id"],
        name=record["name"],
        vendor=record["vendor"],
        kind=DeviceKind(record["kind"]),
        architecture=architecture,
        units=record["units"],
        clock_hz=clock_hz,
        peaks=derive_peaks(
            architecture, record["units"], clock_hz,
            matrix_clock_hz=matrix_clock_hz, efficiency_cores=efficiency_cores,
        ),
        base_clock_hz=_scaled(record.get("base_clock_mhz"), _MHZ),
        max_clock_hz=_scaled(record.get("max_clock_mhz"), _MHZ),
        matrix_clock_hz=matrix_clock_hz,
        efficiency_cores=efficiency_cores,
        threads=record.get("threads"),
        sockets=record.get("sockets", 1),
        bandwidth_bytes_per_s=bandwidth_bytes_per_s(record),
        memory_bytes=None if memory is None else round(memory * _GIB),
        memory_type=record.get("memory_type"),
        unified_memory=record.get("unified_memory", False),
        virtual=record.get("virtual", False),
        cache_bytes=_caches(record),
        power_limit_w=record.get("power_limit_w"),
        pcie=_pcie(record.get("pcie")),
        peer_link=_peer_link(record.get("nvlink")),
        chips_per_board=record.get("chips_per_board", 1),
        form_factor=record.get("form_factor"),
        released=record.get("released"),
        launch_price_usd=record.get("launch_price_usd"),
        aliases=tuple(record.get("aliases", ())),
        pci_ids=tuple(record.get("pci_ids", ())),
        datasheet_peaks={
            name: peak * 1e12 for name, peak in record.get("datasheet_peaks_tflops", {}).items()
        },
        note=record.get("note", ""),
        provenance=_provenance(record, sources),
    )  # fmt: skip


def clock_mhz(record: Mapping[str, Any]) -> float:
    """Return the clock that peaks are derived from: boost, or for a CPU all cores, else the base clock."""
    for key in ("boost_clock_mhz", "all_core_clock_mhz", "base_clock_mhz"):
        if key in record:
            return float(record[key])
    raise KeyError(record["id"])


def bandwidth_bytes_per_s(record: Mapping[str, Any]) -> float | None:
    """Return the stated bandwidth, or bus x rate / 8, or channels x rate x 8 bytes; else None."""
    if "bandwidth_gb_per_s" in record:
        return float(record["bandwidth_gb_per_s"]) * 1e9
    if "memory_bus_bits" in record and "memory_gbit_per_s_per_pin" in record:
        return float(record["memory_bus_bits"] / _BITS * record["memory_gbit_per_s_per_pin"]) * 1e9
    if "memory_channels" in record and "memory_mt_per_s" in record:
        channels = record["memory_channels"] * record.get("sockets", 1)
        return float(channels * record["memory_mt_per_s"] * _BYTES_A_CHANNEL) * 1e6
    return None


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _efficiency_cores(
    record: Mapping[str, Any], architectures: Mapping[str, Architecture]
) -> CoreGroup | None:
    group = record.get("efficiency_cores")
    if group is None:
        return None
    return CoreGroup(
        architecture=architectures[group["architecture"]],
        units=group["units"],
        clock_hz=group["clock_mhz"] * _MHZ,
    )


def _caches(record: Mapping[str, Any]) -> dict[str, int]:
    caches = {name: round(kib * 1024) for name, kib in record.get("caches_kib", {}).items()}
    if "l2_mib" in record:
        caches["l2"] = round(record["l2_mib"] * 2**20)
    return caches


def _pcie(link: Mapping[str, int] | None) -> Interface | None:
    if link is None:
        return None
    rate = _PCIE_GB_PER_S_A_LANE[link["generation"]] * link["lanes"] * 1e9
    return Interface(name=f"PCIe {link['generation']}.0 x{link['lanes']}", bytes_per_s=rate)


def _peer_link(link: Mapping[str, Any] | None) -> Interface | None:
    if link is None:
        return None
    name = link.get("name") or f"NVLink {link['generation']}"
    return Interface(name=name, bytes_per_s=link["gb_per_s"] * 1e9)


def _provenance(record: Mapping[str, Any], sources: Sources) -> dict[str, Provenance]:
    found = {"peaks": PEAKS_DERIVED}
    for key, field in _FIELD_OF_KEY.items():
        if key in record and (origin := sources.of(record, key)):
            found[field] = origin
    if "clock_hz" not in found and (origin := sources.of(record, "base_clock_mhz")):
        found["clock_hz"] = Provenance(origin.source, Basis.ASSUMED, _BASE_CLOCK_NOTE)
    if "bandwidth_bytes_per_s" not in found:
        for key, formula in (
            ("memory_gbit_per_s_per_pin", _PIN_DERIVED),
            ("memory_mt_per_s", _CHANNELS_DERIVED),
        ):
            if key in record and (origin := sources.of(record, key)):
                note = f"{formula}; {origin.note}" if origin.note else formula
                found["bandwidth_bytes_per_s"] = Provenance(origin.source, origin.basis, note)
    return found
