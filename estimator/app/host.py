"""From what was detected in a host to devices that can be predicted for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.app.host_cpu import cpu_device
from estimator.catalog.lookup import architecture_for_nvidia
from estimator.catalog.match import explain_match
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import Device, Interface, derive_peaks
from estimator.provenance import Basis, Finding, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import GpuFacts, HostFacts

_NVIDIA = "NVIDIA"  # whose older drivers call a laptop part as the desktop's


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDevices:
    """The devices of a host, the CPU first, and why some of its parts are none."""

    devices: tuple[Device, ...]
    findings: tuple[Finding, ...]


def host_devices(facts: HostFacts) -> HostDevices:
    """Return a device for the CPU and for each GPU of which enough is known."""
    findings: list[Finding] = []
    devices: list[Device] = []
    cpu = cpu_device(facts, findings)
    if cpu is not None:
        devices.append(cpu)
    for gpu in facts.gpus:
        device = _gpu_device(gpu, findings)
        if device is not None:
            devices.append(device)
    return HostDevices(devices=tuple(devices), findings=tuple(findings))


def _gpu_device(gpu: GpuFacts, findings: list[Finding]) -> Device | None:
    match = explain_match(
        gpu.name or "",
        gpu.pci_id,
        memory_bytes=gpu.memory_bytes,
        units=gpu.units,
        laptop_too=gpu.laptop is None and gpu.vendor == _NVIDIA,
    )
    known = match.device
    if known is not None:
        return replace(
            known,
            memory_bytes=gpu.memory_bytes or known.memory_bytes,
            power_limit_w=gpu.power_limit_w or known.power_limit_w,
            pcie=_link(gpu, known.pcie),
            detected=True,
        )
    architecture = None
    if gpu.compute_capability is not None:
        major, minor = gpu.compute_capability
        architecture = architecture_for_nvidia(f"{major}.{minor}", gpu.name or "")
    if architecture is None or not gpu.units or not gpu.max_clock_hz:
        findings.append(
            Finding(
                what=f"no prediction for {gpu.name or f'GPU {gpu.index}'}",
                why=f"{match.reason}, and its driver tells too little to derive peaks",
                remedy="name it with --device (see estimator devices list), or add it: estimator devices add",
            )
        )
        return None
    return Device(
        id=f"this-gpu-{gpu.index}",
        name=gpu.name or f"GPU {gpu.index}",
        vendor=gpu.vendor,
        kind=DeviceKind.GPU,
        architecture=architecture,
        units=gpu.units,
        clock_hz=gpu.max_clock_hz,
        peaks=derive_peaks(architecture, gpu.units, gpu.max_clock_hz),
        bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s,
        memory_bytes=gpu.memory_bytes,
        cache_bytes={"l2": gpu.l2_bytes} if gpu.l2_bytes else {},
        power_limit_w=gpu.power_limit_w,
        pcie=_link(gpu, None),
        detected=True,
        provenance={"clock_hz": Provenance("driver: highest clock", Basis.DETECTED)},
    )


def _link(gpu: GpuFacts, specified: Interface | None) -> Interface | None:
    """Return the host's link to a GPU: as the slot has it, at most as the card's datasheet does.

    An endpoint behind a switch on its own card shows the switch's link, which can be the wider one.
    """
    rate = gpu.pcie_bytes_per_s
    if rate is None or (specified is not None and rate >= specified.bytes_per_s):
        return specified
    return Interface(name=f"PCIe {gpu.pcie_generation}.0 x{gpu.pcie_width}", bytes_per_s=rate)
