"""The use case of ``estimator detect``: facts, devices that follow from them, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.app.host import host_devices
from estimator.app.probing import LAUNCH, launch_provenance, probe_mapping, with_probe
from estimator.results.base import plain
from estimator.results.detection import DetectedDevice, DetectionResult, HostSummary

if TYPE_CHECKING:
    from estimator.app.probing import HostProbe
    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.measure.probes import Measured
    from estimator.precision import DType


PROBE_HINT = "--probe"  # findings that a probe answers say so in their remedy


def detection_result(facts: HostFacts, probe: HostProbe | None = None) -> DetectionResult:
    """Return what is in a host: the detector's facts, each device with its derived peaks, and findings.

    With a probe, what was measured stands in place of what was specified.
    """
    found = host_devices(facts)
    devices = found.devices if probe is None else tuple(with_probe(d, probe.cpu) for d in found.devices)
    findings = (*facts.findings, *(f for gpu in facts.gpus for f in gpu.findings), *found.findings)
    if probe is not None:
        findings = (*(f for f in findings if PROBE_HINT not in f.remedy), *probe.findings)
    return DetectionResult(
        host=HostSummary(
            cpu=plain(facts.cpu),
            memory=plain(facts.memory),
            gpus=tuple(plain(gpu) for gpu in facts.gpus),
            devices=tuple(
                detected_device(device, None if probe is None else probe.launch_of(device))
                for device in devices
            ),
            probe=None if probe is None else probe_mapping(probe),
        ),
        findings=findings,
    )


def detected_device(device: Device, launch: Measured | None = None) -> DetectedDevice:
    """Return a device as results show it: peaks and ridge points by format and unit, launches if measured."""
    provenance = dict(device.provenance)
    if launch is not None:
        provenance[LAUNCH] = launch_provenance(launch)
    peaks = peaks_by_format(device)
    formats = [dtype for dtype in _formats(device) if device.ridge_point(dtype) is not None]
    return DetectedDevice(
        id=device.id,
        name=device.name,
        vendor=device.vendor,
        kind=device.kind.value,
        architecture=device.architecture.name,
        catalogued=not device.id.startswith("this-"),
        units=device.all_units,
        unit_name=device.architecture.unit_name,
        lanes=device.lanes,
        clock_hz=device.clock_hz,
        memory_bytes=device.memory_bytes,
        peaks_flop_per_s=peaks,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
        ridge_point_flop_per_byte={dtype.value: device.ridge_point(dtype) or 0.0 for dtype in formats},
        power_limit_w=device.power_limit_w,
        provenance=plain(provenance),
        launch_s=None if launch is None else launch.value,
    )


def peaks_by_format(device: Device) -> dict[str, dict[str, float]]:
    """Return ``{precision: {vector, matrix}}`` of the peaks a device has."""
    table: dict[str, dict[str, float]] = {}
    for unit, rates in (("vector", device.peaks.vector), ("matrix", device.peaks.matrix)):
        for dtype, rate in rates.items():
            table.setdefault(dtype.value, {})[unit] = rate
    return table


def _formats(device: Device) -> list[DType]:
    return list(dict.fromkeys([*device.peaks.vector, *device.peaks.matrix]))
