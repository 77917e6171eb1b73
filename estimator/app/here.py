"""This machine's own calibration: where it is kept, whether it still is this machine's, and what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from estimator.app.transfer import transfer
from estimator.catalog.calibration import load_calibration
from estimator.catalog.store import user_root
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import derive_peaks
from estimator.predict.coefficients import coefficients_from_mapping, coefficients_to_mapping
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration

FOLDER = "here"
_FORMAT = 1
_GIB = 2**30
_POWER_CLASS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HereCalibration:
    """A calibration measured on this machine for one of its devices, with what it rests on.

    ``clock_hz`` and ``bandwidth_bytes_per_s`` were measured with it; None is "as specified".
    """

    device_id: str
    kind: str
    calibration: Calibration
    date: str
    software: Mapping[str, str]
    fingerprint: Mapping[str, str]
    networks: tuple[str, ...] = ()
    clock_hz: float | None = None
    bandwidth_bytes_per_s: float | None = None
    power_limit_w: float | None = None


def fingerprint(facts: HostFacts) -> dict[str, str]:
    """Return what tells this machine from another: processor, usable cores, memory, GPUs."""
    cpu = facts.cpu
    return {
        "cpu": cpu.model_name or cpu.microarchitecture or "unknown",
        "microarchitecture": cpu.microarchitecture or "unknown",
        "usable_cpus": f"{cpu.usable_cpus or 0:g}",
        "memory_gib": f"{(facts.memory.usable_bytes or 0) / _GIB:.0f}",
        "gpus": ", ".join(sorted(gpu.name or "unknown" for gpu in facts.gpus)) or "none",
    }


def installed(package: str) -> str | None:
    """Return the version of a package without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def here_file(device_id: str) -> Path:
    """Return where the calibration of a device of this machine is kept."""
    return user_root().parent / FOLDER / f"{device_id}.json"


def calibration_text(made: HereCalibration) -> str:
    """Return the file's text."""
    data = {
        "format": _FORMAT, "device": made.device_id, "kind": made.kind, "date": made.date,
        "software": dict(made.software), "fingerprint": dict(made.fingerprint),
        "networks": list(made.networks), "clock_hz": made.clock_hz,
        "bandwidth_bytes_per_s": made.bandwidth_bytes_per_s, "power_limit_w": made.power_limit_w,
        "calibration": coefficients_to_mapping(made.calibration),
    }  # fmt: skip
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def calibration_here(device_id: str, facts: HostFacts) -> HereCalibration | None:
    """Return the calibration that was measured on this machine for a device, None where there is none.

    One whose fingerprint is another machine's, or that cannot be read, is not used.
    """
    try:
        data: dict[str, Any] = json.loads(here_file(device_id).read_text(encoding="utf-8"))
        if data.get("format") != _FORMAT or data["fingerprint"] != fingerprint(facts):
            return None
        return HereCalibration(
            device_id=data["device"], kind=data["kind"], date=data["date"], software=data["software"],
            fingerprint=data["fingerprint"], networks=tuple(data["networks"]), clock_hz=data["clock_hz"],
            bandwidth_bytes_per_s=data["bandwidth_bytes_per_s"], power_limit_w=data["power_limit_w"],
            calibration=coefficients_from_mapping(data["calibration"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError):
        return None


def any_here() -> bool:
    """Tell whether any device of any machine was calibrated by this user."""
    return any((user_root().parent / FOLDER).glob("*.json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a prediction for a device rests on: the device as measured, the calibration, what to say of it."""

    device: Device
    calibration: Calibration
    measured_here: bool = False
    assumptions: tuple[Assumption, ...] = ()


def measured_grounds(device: Device, made: HereCalibration) -> Grounds:
    """Return what this machine's own measurement says of its device."""
    said = Assumption(
        what="calibration",
        value=f"measured here on {made.date}",
        why=f"{len(made.networks)} networks; PyTorch {made.software.get('torch', 'unknown')}",
    )
    assumptions = (said, *_other_software(made))
    return Grounds(
        device=refined(device, made),
        calibration=made.calibration,
        measured_here=True,
        assumptions=assumptions,
    )


def _other_software(made: HereCalibration) -> tuple[Assumption, ...]:
    now, then = installed("torch"), made.software.get("torch")
    if now is None or then is None or then.startswith(now):
        return ()
    return (
        Assumption(
            what="software", value=f"PyTorch {then}, as calibrated",
            why=f"PyTorch {now} is installed now; estimator calibrate --here measures it",
        ),
    )  # fmt: skip


def refined(device: Device, made: HereCalibration) -> Device:
    """Return a device at the clock and bandwidth that were measured with its calibration."""
    if made.clock_hz and device.kind is DeviceKind.CPU:
        peaks = derive_peaks(
            device.architecture, device.units, made.clock_hz, efficiency_cores=device.efficiency_cores
        )
        device = replace(device, clock_hz=made.clock_hz, peaks=peaks)
    if made.bandwidth_bytes_per_s:
        device = replace(device, bandwidth_bytes_per_s=made.bandwidth_bytes_per_s)
    return device


def grounding(facts: HostFacts, shipped: Calibration) -> Callable[[Device], Grounds]:
    """Return what tells, for any device, what its prediction rests on.

    A device that was measured on this machine has its own calibration. Others of its kind get what the
    measurement says of classes of kernels against each other, half way; other kinds get nothing of it.
    """
    cache: dict[str, HereCalibration | None] = {}

    def own(device_id: str) -> HereCalibration | None:
        if device_id not in cache:
            cache[device_id] = calibration_here(device_id, facts)
        return cache[device_id]

    known = [
        made for path in sorted((user_root().parent / FOLDER).glob("*.json")) if (made := own(path.stem))
    ]

    def ground(device: Device) -> Grounds:
        made = own(device.id) if device.detected else None
        if made is not None:
            return measured_grounds(device, made)
        alike = next((other for other in known if other.kind == device.kind.value), None)
        if alike is None:
            return Grounds(device=device, calibration=shipped)
        return transferred(device, alike, shipped)

    return ground


def transferred(device: Device, made: HereCalibration, shipped: Calibration) -> Grounds:
    """Return the grounds of a device of the same kind that was not measured."""
    same_class = _same_power_class(device.power_limit_w, made.power_limit_w)
    said = Assumption(
        what="calibration",
        value="half way to what was measured here, by class of kernels",
        why="a like device was measured on this machine"
        + ("" if same_class else "; its power class is another or not known, so the range is wider"),
    )
    moved = transfer(shipped, made.calibration, kind=device.kind, wider=not same_class)
    return Grounds(device=device, calibration=moved, assumptions=(said,))


def _same_power_class(one: float | None, other: float | None) -> bool:
    """Tell whether two power limits are within a factor of two of each other; unknown ones are not."""
    if not one or not other:
        return False
    return max(one, other) / min(one, other) <= _POWER_CLASS


def grounds_of(device: Device, facts: HostFacts) -> Grounds:
    """Return what predictions for a device of this host rest on."""
    made = calibration_here(device.id, facts)
    return measured_grounds(device, made) if made else Grounds(device=device, calibration=load_calibration())
