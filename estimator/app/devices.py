"""The use cases of ``estimator devices``: list the catalogue, show one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.app.detection import peaks_by_format
from estimator.catalog import browse
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import load_device
from estimator.precision import DType
from estimator.predict.interval import tier_of
from estimator.provenance import Basis
from estimator.results.base import plain
from estimator.results.devices import DeviceListResult, DeviceResult, DeviceRow
from estimator.units import parse_bytes

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.provenance import Provenance


# What an architecture's sources say of the architecture and not of a device made with it.
_OF_ARCHITECTURE_ONLY = frozenset(
    {"vendor", "kind", "year", "targets", "market", "aliases", "cpuid", "arm_parts"}
)


def list_devices(*, vendor: str | None, year: int | None, memory: str | None, sort: str) -> DeviceListResult:
    """Return the devices that match every filter given; a bare number of ``memory`` is GiB."""
    found = browse.list_devices(
        vendor=vendor,
        year=year,
        min_memory_bytes=None if memory is None else parse_bytes(memory, bare="gib"),
        sort=sort,
    )
    return DeviceListResult(devices=tuple(map(_row, found)))


def _row(device: Device) -> DeviceRow:
    return DeviceRow(
        id=device.id,
        name=device.name,
        vendor=device.vendor,
        kind=device.kind.value,
        architecture=device.architecture.name,
        released=device.released,
        lanes=device.lanes,
        memory_bytes=device.memory_bytes,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        power_limit_w=device.power_limit_w,
        fp32_flop_per_s=device.peaks.best(DType.FP32),
        fp16_flop_per_s=device.peaks.best(DType.FP16),
    )


def show_device(name: str) -> DeviceResult:
    """Return one device of the catalogue with all that is known of it."""
    return device_result(load_device(name), load_calibration())


def device_result(device: Device, calibration: Calibration) -> DeviceResult:
    """Return all that is known of a device, catalogued or detected."""
    scale = calibration.devices.get(device.id)
    ridges = {
        dtype.value: ridge
        for dtype in (*device.peaks.vector, *device.peaks.matrix)
        if (ridge := device.ridge_point(dtype)) is not None
    }
    return DeviceResult(
        id=device.id,
        name=device.name,
        vendor=device.vendor,
        kind=device.kind.value,
        architecture=device.architecture.name,
        units=device.all_units,
        unit_name=device.architecture.unit_name,
        lanes=device.lanes,
        clock_hz=device.clock_hz,
        base_clock_hz=device.base_clock_hz,
        threads=device.threads,
        sockets=device.sockets,
        chips_per_board=device.chips_per_board,
        peaks_flop_per_s=peaks_by_format(device),
        ridge_point_flop_per_byte=ridges,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        memory_bytes=device.memory_bytes,
        cache_bytes=dict(device.cache_bytes),
        power_limit_w=device.power_limit_w,
        pcie=plain(device.pcie) if device.pcie else None,
        peer_link=plain(device.peer_link) if device.peer_link else None,
        released=device.released,
        launch_price_usd=device.launch_price_usd,
        aliases=device.aliases,
        pci_ids=device.pci_ids,
        note=_note(device),
        provenance=plain(_provenance(device)),
        calibration={"tier": tier_of(device, calibration).value, "rows": scale.rows if scale else 0},
    )


def _provenance(device: Device) -> dict[str, Provenance]:
    """Return the source of each figure: the architecture's rates, and what the device's own profile says."""
    rates = {
        field: origin
        for field, origin in device.architecture.provenance.items()
        if field not in _OF_ARCHITECTURE_ONLY
    }
    return {**rates, **device.provenance}


def _note(device: Device) -> str:
    """Return what must be known beside the figures: of the device, its architecture and its clock."""
    clock = device.provenance.get("clock_hz")
    assumed = clock.note if clock is not None and clock.basis is Basis.ASSUMED else ""
    return "; ".join(filter(None, (device.note, device.architecture.note, assumed)))
