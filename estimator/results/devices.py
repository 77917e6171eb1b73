"""The results of ``estimator devices``: the catalogue's list, and one device in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """One device of the list; None is "not known"."""

    id: str
    name: str
    vendor: str
    kind: str
    architecture: str
    released: str | None
    lanes: float
    memory_bytes: int | None
    bandwidth_bytes_per_s: float | None
    power_limit_w: float | None
    fp32_flop_per_s: float | None
    fp16_flop_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceListResult(Result):
    """Devices that match the filters, in the order asked for."""

    schema: ClassVar[str] = "estimator/devices-list/1"
    main_rows: ClassVar[str] = "devices"

    devices: tuple[DeviceRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceResult(Result):
    """One device: ``provenance`` by field, ``calibration`` what its predictions rest on.

    ``note`` says what the figures leave out or take for granted.
    """

    schema: ClassVar[str] = "estimator/device/1"

    id: str
    name: str
    vendor: str
    kind: str
    architecture: str
    units: float
    unit_name: str
    lanes: float
    clock_hz: float
    base_clock_hz: float | None
    threads: int | None
    sockets: int
    chips_per_board: int
    peaks_flop_per_s: Mapping[str, Mapping[str, float]]
    ridge_point_flop_per_byte: Mapping[str, float]
    bandwidth_bytes_per_s: float | None
    memory_bytes: int | None
    cache_bytes: Mapping[str, int]
    power_limit_w: float | None
    pcie: Mapping[str, Any] | None
    peer_link: Mapping[str, Any] | None
    released: str | None
    launch_price_usd: float | None
    aliases: tuple[str, ...]
    pci_ids: tuple[str, ...]
    provenance: Mapping[str, Any]
    calibration: Mapping[str, Any]
    note: str = ""
