"""The use cases of ``estimator devices``: list the catalogue, show one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.app.detection import peaks_by_format
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import all_devices, load_device
from estimator.errors import InputError
from estimator.precision import DType
from estimator.predict.interval import tier_of
from estimator.results.base import plain
from estimator.results.devices import DeviceListResult, DeviceResult, DeviceRow
from estimator.units import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.hardware.device import Device

# Sort keys; all but names put the largest first and the unknown last.
_ORDERS: dict[str, Callable[[Device], float | str]] = {
    "name": lambda d: d.name.lower(),
    "year": lambda d: -float((d.released or "0")[:4]),
    "memory": lambda d: -(d.memory_bytes or 0),
    "bandwidth": lambda d: -(d.bandwidth_bytes_per_s or 0.0),
    "fp32": lambda d: -(d.peaks.best(DType.FP32) or 0.0),
}


def list_devices(*, vendor: str | None, year: int | None, memory: str | None, sort: str) -> DeviceListResult:
    """Return the devices that match every filter given."""
    if sort not in _ORDERS:
        raise InputError(f"--sort: unknown order {sort!r}", hint=f"choose from {', '.join(_ORDERS)}")
    devices = list(all_devices())
    if vendor is not None:
        known = sorted({d.vendor for d in devices})
        if vendor.lower() not in known:
            raise InputError(f"--vendor: unknown vendor {vendor!r}", hint=f"known are {', '.join(known)}")
        devices = [d for d in devices if d.vendor == vendor.lower()]
    if year is not None:
        devices = [d for d in devices if (d.released or "").startswith(str(year))]
    if memory is not None:
        least = parse_bytes(memory)
        devices = [d for d in devices if (d.memory_bytes or 0) >= least]
    order = _ORDERS[sort]
    return DeviceListResult(devices=tuple(_row(d) for d in sorted(devices, key=lambda d: (order(d), d.id))))


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
    """Return one device with all that is known of it."""
    device = load_device(name)
    calibration = load_calibration()
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
        units=device.units,
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
        provenance=plain({**device.architecture.provenance, **device.provenance}),
        calibration={"tier": tier_of(device, calibration).value, "rows": scale.rows if scale else 0},
    )
