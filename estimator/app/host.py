"""From what was detected in a host to devices that can be predicted for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from estimator.catalog.cpu_parts import limited_to
from estimator.catalog.lookup import all_devices, architecture_for_nvidia, load_architecture
from estimator.catalog.match import explain_match, match_detected
from estimator.errors import InputError
from estimator.hardware.architecture import Architecture, DeviceKind
from estimator.hardware.device import Device, Interface, derive_peaks
from estimator.precision import DType
from estimator.provenance import Basis, Finding, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import CpuFacts, GpuFacts, HostFacts

_FP32_BITS = 32
_SAME_CLOCK = 0.01
_GHZ = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDevices:
    """The devices of a host, the CPU first, and why some of its parts are none."""

    devices: tuple[Device, ...]
    findings: tuple[Finding, ...]


def host_devices(facts: HostFacts) -> HostDevices:
    """Return a device for the CPU and for each GPU of which enough is known."""
    findings: list[Finding] = []
    devices: list[Device] = []
    cpu = _cpu_device(facts, findings)
    if cpu is not None:
        devices.append(cpu)
    for gpu in facts.gpus:
        device = _gpu_device(gpu, findings)
        if device is not None:
            devices.append(device)
    return HostDevices(devices=tuple(devices), findings=tuple(findings))


def _cpu_device(facts: HostFacts, findings: list[Finding]) -> Device | None:
    cpu = facts.cpu
    known = match_detected(cpu.model_name) if cpu.model_name else None
    if known is not None and known.kind is DeviceKind.CPU:
        return _known_cpu(known, facts)
    architecture = _cpu_architecture(cpu)
    cores = cpu.usable_cores or cpu.physical_cores
    clock, known_by = _clock(cpu, architecture)
    if architecture is None or not cores or not clock:
        missing = "SIMD width" if architecture is None else "number of cores" if not cores else "clock"
        findings.append(
            Finding(
                what=f"no prediction for this CPU: its {missing} is not known",
                why="peak rates follow from cores, SIMD width, FMA pipes and clock",
                remedy="name a similar one with --device, or run estimator detect --probe",
            )
        )
        return None
    if known_by.basis is Basis.ASSUMED:
        findings.append(
            Finding(
                what=f"its cores are taken to run at {clock / _GHZ:.2f} GHz",
                why=known_by.note,
                remedy="estimator detect --probe measures it",
            )
        )
    return Device(
        id="this-cpu",
        name=cpu.model_name or architecture.name,
        vendor=cpu.vendor or "unknown",
        kind=DeviceKind.CPU,
        architecture=architecture,
        units=cores,
        clock_hz=clock,
        peaks=derive_peaks(architecture, cores, clock),
        base_clock_hz=cpu.base_clock_hz,
        threads=cpu.threads,
        sockets=cpu.sockets or 1,
        memory_bytes=facts.memory.usable_bytes,
        cache_bytes=_caches(cpu),
        detected=True,
        provenance={
            "units": Provenance("cores usable by this process", Basis.DETECTED),
            "clock_hz": known_by,
            "memory_bytes": Provenance("kernel", Basis.DETECTED),
            "peaks": Provenance("cores x FMA a clock x 2 x clock", Basis.DERIVED),
        },
    )


def _clock(cpu: CpuFacts, architecture: Architecture | None) -> tuple[float | None, Provenance]:
    """Return the clock of the cores in Hz, and how it is known.

    A virtual machine shows the time-stamp counter's rate only, which is the base clock. Where the catalogue
    has processors of that microarchitecture and base clock, theirs with all cores busy is taken.
    """
    if cpu.max_clock_hz or cpu.base_clock_hz or architecture is None:
        return cpu.max_clock_hz or cpu.base_clock_hz, Provenance("kernel", Basis.DETECTED)
    alike = _processors_like(architecture.id, cpu.tsc_clock_hz)
    if alike:
        names = ", ".join(device.name for device in alike)
        note = f"as {names} with all cores busy, whose base clock the time-stamp counter has"
        return median(device.clock_hz for device in alike), Provenance("catalogue", Basis.ASSUMED, note)
    note = "a virtual machine shows the time-stamp counter's rate, not the core's"
    return cpu.tsc_clock_hz or cpu.current_clock_hz, Provenance("kernel", Basis.DETECTED, note)


def _processors_like(architecture: str, base_clock_hz: float | None) -> list[Device]:
    """Return the catalogue's server processors of an architecture with a base clock, in Hz."""
    if base_clock_hz is None:
        return []
    return [
        device for device in all_devices()
        if device.architecture.id == architecture and device.form_factor == "server"
        and device.base_clock_hz and abs(device.base_clock_hz / base_clock_hz - 1.0) < _SAME_CLOCK
        and device.clock_hz > device.base_clock_hz
    ]  # fmt: skip


def _known_cpu(known: Device, facts: HostFacts) -> Device:
    """Return the catalogue's CPU as far as this process may use it: its cores, its memory.

    A virtual machine gets some cores of a socket, but never is the socket's bandwidth its own.
    """
    cores = facts.cpu.usable_cores or known.units
    device = limited_to(known, cores)
    bandwidth = None if facts.cpu.virtualised and cores < known.units else device.bandwidth_bytes_per_s
    return replace(
        device,
        id=known.id,
        memory_bytes=facts.memory.usable_bytes,
        bandwidth_bytes_per_s=bandwidth,
        detected=True,
    )


def _cpu_architecture(cpu: CpuFacts) -> Architecture | None:
    """Return the catalogue's architecture, or one made of the detected width and pipes."""
    if cpu.microarchitecture:
        try:
            known = load_architecture(cpu.microarchitecture)
        except InputError:
            known = None
        if known is not None and (cpu.simd_bits is None or known.simd_bits == cpu.simd_bits):
            return known
    if cpu.simd_bits is None:
        return None
    pipes = cpu.fma_pipes or 1
    lanes = pipes * cpu.simd_bits // _FP32_BITS
    return Architecture(
        id=cpu.microarchitecture or "detected-cpu",
        name=cpu.microarchitecture_name or f"CPU with {cpu.simd_bits}-bit SIMD",
        vendor=cpu.vendor or "unknown",
        kind=DeviceKind.CPU,
        unit_name="core",
        lanes_per_unit=lanes,
        vector={DType.FP32: lanes, DType.FP64: lanes / 2},
        simd_bits=cpu.simd_bits,
        fma_pipes=pipes,
        has_fma=cpu.has_fma is not False,
        provenance={"vector": Provenance("SIMD width x FMA pipes", Basis.DETECTED)},
    )


def _caches(cpu: CpuFacts) -> dict[str, int]:
    """Return bytes of one instance by level, as device profiles have them."""
    return {
        f"l{cache.level}" if cache.level > 1 else "l1d": cache.size_bytes
        for cache in cpu.caches
        if cache.kind.lower() != "instruction"
    }


def _gpu_device(gpu: GpuFacts, findings: list[Finding]) -> Device | None:
    match = explain_match(gpu.name or "", gpu.pci_id, memory_bytes=gpu.memory_bytes, units=gpu.units)
    known = match.device
    if known is not None:
        return replace(
            known,
            memory_bytes=gpu.memory_bytes or known.memory_bytes,
            power_limit_w=gpu.power_limit_w or known.power_limit_w,
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
                remedy="see estimator devices list; add a profile of it with estimator devices add",
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
        pcie=Interface(name="PCIe", bytes_per_s=gpu.pcie_bytes_per_s) if gpu.pcie_bytes_per_s else None,
        detected=True,
        provenance={"clock_hz": Provenance("driver: highest clock", Basis.DETECTED)},
    )
