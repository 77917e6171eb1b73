"""What ``estimator devices`` does: list, add; all as plain data, nothing printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.catalogue import forget_catalogue
from estimator.catalog.check import check_profile, profile_kind
from estimator.catalog.lookup import all_devices
from estimator.catalog.reading import read_file
from estimator.catalog.store import bundled_root, user_root
from estimator.document import MapNode, Scalar
from estimator.errors import InputError, combined
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from estimator.hardware.architecture import DeviceKind
    from estimator.hardware.device import Device

SORT_KEYS: dict[str, Callable[[Device], float | str | None]] = {
    "name": lambda device: device.name.lower(),
    "id": lambda device: device.id,
    "year": lambda device: device.released,
    "memory": lambda device: device.memory_bytes,
    "bandwidth": lambda device: device.bandwidth_bytes_per_s,
    "fp32": lambda device: device.peaks.best(DType.FP32),
    "fp16": lambda device: device.peaks.best(DType.FP16),
    "power": lambda device: device.power_limit_w,
    "price": lambda device: device.launch_price_usd,
}
_FALLING = frozenset(SORT_KEYS) - {"name", "id"}


def list_devices(
    *,
    vendor: str | None = None,
    kind: DeviceKind | None = None,
    year: int | None = None,
    min_memory_bytes: int | None = None,
    form_factor: str | None = None,
    text: str | None = None,
    sort: str = "name",
) -> tuple[Device, ...]:
    """Return the devices that meet every filter, sorted; unknown values come last.

    ``year`` is the year of release, ``text`` a part of id, name or alias. Figures sort falling, the
    newest or largest first. Raises InputError for an unknown ``sort`` or vendor.
    """
    if sort not in SORT_KEYS:
        raise InputError(f"cannot sort by {sort!r}", hint=f"one of {', '.join(SORT_KEYS)}")
    found = all_devices()
    vendors = {device.vendor for device in found}
    if vendor is not None and vendor.lower() not in vendors:
        raise InputError(f"no device of vendor {vendor!r}", hint=f"one of {', '.join(sorted(vendors))}")
    chosen = [
        device
        for device in found
        if (vendor is None or device.vendor == vendor.lower())
        and (kind is None or device.kind is kind)
        and (year is None or (device.released or "").startswith(str(year)))
        and (min_memory_bytes is None or (device.memory_bytes or 0) >= min_memory_bytes)
        and (form_factor is None or device.form_factor == form_factor)
        and (text is None or _mentions(device, text.lower()))
    ]
    return _sorted(chosen, sort)


def _mentions(device: Device, text: str) -> bool:
    return any(text in name.lower() for name in (device.id, device.name, *device.aliases))


def _sorted(devices: list[Device], sort: str) -> tuple[Device, ...]:
    key = SORT_KEYS[sort]
    known = [(value, device.id, device) for device in devices if (value := key(device)) is not None]
    unknown = [device for device in devices if key(device) is None]
    known.sort(key=lambda entry: entry[1])
    known.sort(key=lambda entry: entry[0], reverse=sort in _FALLING)
    return (*(device for _, _, device in known), *unknown)


def add_profile(path: Path, *, replace: bool = False) -> Path:
    """Copy a profile of one's own into the user folder once it is right; return where it lies now.

    Raises every error of the profile, or InputError when one of that name is there and ``replace`` is not.
    """
    errors = check_profile(path)
    if errors:
        raise combined(errors)
    node = read_file(path)
    own_id = node.get("id") if isinstance(node, MapNode) else None
    id_ = own_id.value if isinstance(own_id, Scalar) else ""
    target = user_root() / profile_kind(node) / f"{id_}.yaml"
    if target.exists() and not replace:
        raise InputError(f"{target} exists already", hint="say that it shall be replaced")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from None
    forget_catalogue()
    return target


def built_in_of(target: Path) -> str | None:
    """Return the id of the built-in profile that an added one goes before, None where there is none."""
    bundled = bundled_root() / target.parent.name / target.name
    return target.stem if bundled.is_file() else None
