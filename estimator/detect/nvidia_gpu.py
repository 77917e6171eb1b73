"""One NVIDIA GPU by NVML, every call guarded: one that fails costs one field, not the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.detect import nvml as api
from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.nvidia_facts import (
    CORES_PER_SM,
    PCIE_WIDTHS,
    is_laptop_name,
    is_unified,
    pcie_bytes_per_s,
    tensor_cores,
)
from estimator.detect.nvidia_links import nvlink_peers
from estimator.detect.nvidia_mig import mig_enabled
from estimator.detect.nvml import ask, field_of, number_of, text_of

if TYPE_CHECKING:
    from estimator.detect.facts import MemoryFacts
    from estimator.detect.nvml import Answer, NvmlLike

_MHZ, _MILLIWATT = 1e6, 1e-3
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
# Sanity limits: a number beyond them is a broken answer, not a GPU.
_MOST_CORES, _MOST_MHZ, _MOST_BUS_BITS = 1 << 20, 20_000, 1 << 16
_MOST_BYTES, _MOST_MILLIWATT, _MOST_GENERATION = 1 << 44, 10_000_000, 7
_BITS_A_BYTE, _DATA_RATE = 8, 2
_SOURCE = "NVML"
# nvmlGpuVirtualizationMode_t: this is a guest's part of a GPU.
_GUEST_VGPU = 2


def read_gpu(
    nvml: NvmlLike,
    handle: object,
    index: int,
    *,
    memory: MemoryFacts,
    driver: str | None,
    runtime: str | None,
) -> GpuFacts:
    """Return what NVML tells of one GPU; ``memory`` is the host's, which some chips share."""
    ledger = Ledger()
    name = text_of(ask(nvml, "nvmlDeviceGetName", handle))
    capability = _capability(ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle))
    unified = is_unified(name, capability)
    partitioned = mig_enabled(nvml, handle)
    cores, units = _cores(nvml, handle, name, capability, ledger)
    bus, memory_clock, bandwidth = (None, None, None) if unified else _bandwidth(nvml, handle, ledger)
    total, free = _memory(nvml, handle, memory, ledger, unified=unified)
    pci = ask(nvml, "nvmlDeviceGetPciInfo", handle)
    generation, width, now_generation, now_width = (None,) * 4 if unified else _pcie(nvml, handle)
    if name is None:
        ledger.finding(
            f"name of NVIDIA GPU {index} not known", "the driver does not answer", "update the driver"
        )
    if ask(nvml, "nvmlDeviceGetVirtualizationMode", handle).value == _GUEST_VGPU:
        ledger.finding(
            f"{name or 'the GPU'} is a share of a card (vGPU)",
            "cores and clocks are the whole card's, other guests use them too",
            "measure here: predictions assume the card to itself",
        )
    max_clock = _clock(nvml, handle, "nvmlDeviceGetMaxClockInfo", _CLOCK_SM)
    if max_clock is None:
        _missing(ledger, f"clock of GPU {index}", "nvmlDeviceGetMaxClockInfo has no answer")
    return GpuFacts(
        index=index,
        vendor="NVIDIA",
        name=name,
        uuid=text_of(ask(nvml, "nvmlDeviceGetUUID", handle)),
        pci_id=_pci_pair(field_of(pci, "pciDeviceId")),
        pci_subsystem=_pci_pair(field_of(pci, "pciSubSystemId")),
        pci_address=_address(pci),
        compute_capability=capability,
        target=f"sm_{capability[0]}{capability[1]}" if capability else None,
        cores=cores,
        units=units,
        tensor_cores=tensor_cores(name, capability, units),
        max_clock_hz=max_clock,
        current_clock_hz=_clock(nvml, handle, "nvmlDeviceGetClockInfo", _CLOCK_SM),
        memory_bytes=total,
        memory_free_bytes=free,
        memory_bus_bits=bus,
        memory_clock_hz=memory_clock,
        bandwidth_bytes_per_s=bandwidth,
        pcie_generation=generation,
        pcie_width=width,
        pcie_current_generation=now_generation,
        pcie_current_width=now_width,
        pcie_bytes_per_s=pcie_bytes_per_s(generation, width),
        peers=nvlink_peers(nvml, handle, capability),
        power_limit_w=_watts(ask(nvml, "nvmlDeviceGetEnforcedPowerLimit", handle))
        or _watts(ask(nvml, "nvmlDeviceGetPowerManagementLimit", handle)),
        power_max_w=_power_max(nvml, handle),
        mig_enabled=partitioned,
        unified_memory=unified,
        laptop=is_laptop_name(name) if name else None,
        driver_version=driver,
        runtime_version=runtime,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )


def _capability(answer: Answer) -> tuple[int, int] | None:
    value = answer.value
    if not isinstance(value, (tuple, list)) or len(value) != 2:  # noqa: PLR2004 - (major, minor)
        return None
    major, minor = value
    if not (isinstance(major, int) and isinstance(minor, int)) or not (0 < major < 100 and 0 <= minor < 10):  # noqa: PLR2004 - sanity
        return None
    return major, minor


def _cores(
    nvml: NvmlLike, handle: object, name: str | None, capability: tuple[int, int] | None, ledger: Ledger
) -> tuple[int | None, int | None]:
    """Return CUDA cores and SMs: NVML tells only the first, the capability how many make an SM."""
    answer = ask(nvml, "nvmlDeviceGetNumGpuCores", handle)
    cores = number_of(answer, most=_MOST_CORES)
    per_sm = CORES_PER_SM.get(capability) if capability else None
    if cores is None:
        _missing(
            ledger, f"number of CUDA cores of {name or 'the GPU'}", answer.reason or "the driver answers 0"
        )
        return None, None
    ledger.source("cores", f"{_SOURCE} nvmlDeviceGetNumGpuCores")
    if per_sm is None:
        shown = f"{capability[0]}.{capability[1]}" if capability else "(not known)"
        why = f"compute capability {shown} is not in the table of cores an SM"
        _missing(ledger, f"number of SMs of {name or 'the GPU'}", why)
        return cores, None
    if cores % per_sm:
        _missing(
            ledger, f"number of SMs of {name or 'the GPU'}", f"{cores} cores are no multiple of {per_sm}"
        )
        return cores, None
    ledger.source("units", f"{_SOURCE} cores / {per_sm} cores an SM")
    return cores, cores // per_sm


def _clock(nvml: NvmlLike, handle: object, call: str, domain: int) -> float | None:
    mhz = number_of(ask(nvml, call, handle, domain), most=_MOST_MHZ)
    return mhz * _MHZ if mhz is not None else None


def _bandwidth(
    nvml: NvmlLike, handle: object, ledger: Ledger
) -> tuple[int | None, float | None, float | None]:
    """Return bus width, memory clock and their product, bus / 8 x clock x 2 (two transfers a clock)."""
    bus = number_of(ask(nvml, "nvmlDeviceGetMemoryBusWidth", handle), most=_MOST_BUS_BITS)
    clock = _clock(nvml, handle, "nvmlDeviceGetMaxClockInfo", _CLOCK_MEMORY)
    if bus is None or clock is None:
        missing = "bus width" if bus is None else "clock"
        _missing(ledger, "memory bandwidth of the GPU", f"the driver does not tell the memory {missing}")
        return bus, clock, None
    ledger.source("bandwidth_bytes_per_s", f"{_SOURCE} bus width x memory clock")
    return bus, clock, bus / _BITS_A_BYTE * clock * _DATA_RATE


def _memory(
    nvml: NvmlLike, handle: object, host: MemoryFacts, ledger: Ledger, *, unified: bool
) -> tuple[int | None, int | None]:
    """Return total and free bytes; a chip that shares main memory has the host's, whatever NVML says."""
    if unified:
        ledger.source("memory_bytes", "/proc/meminfo", note="memory is shared with the CPU")
        if host.usable_bytes is None:
            _missing(ledger, "memory of the GPU", "it is main memory, whose size is not known")
        return host.usable_bytes, host.available_bytes
    answer = ask(nvml, "nvmlDeviceGetMemoryInfo", handle)
    values = [field_of(answer, name) for name in ("total", "free")]
    total, free = (v if isinstance(v, int) and 0 < v <= _MOST_BYTES else None for v in values)
    if total is None:
        _missing(ledger, "memory of the GPU", answer.reason or "the driver answers 0")
        return None, None
    ledger.source("memory_bytes", f"{_SOURCE} nvmlDeviceGetMemoryInfo")
    return total, free


def _pcie(nvml: NvmlLike, handle: object) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the link's highest generation and width and today's (an idle link runs slower)."""
    generations = [
        number_of(ask(nvml, call, handle), most=_MOST_GENERATION)
        for call in ("nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkGeneration")
    ]
    widths = [
        number_of(ask(nvml, call, handle), most=max(PCIE_WIDTHS))
        for call in ("nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkWidth")
    ]
    return generations[0], widths[0], generations[1], widths[1]


def _watts(answer: Answer) -> float | None:
    milliwatt = number_of(answer, most=_MOST_MILLIWATT)
    return milliwatt * _MILLIWATT if milliwatt is not None else None


def _power_max(nvml: NvmlLike, handle: object) -> float | None:
    answer = ask(nvml, "nvmlDeviceGetPowerManagementLimitConstraints", handle)
    limits = answer.value
    if not isinstance(limits, (tuple, list)) or not limits:
        return None
    return _watts(api.Answer(limits[-1]))


def _address(pci: Answer) -> str | None:
    """Return the slot as sysfs writes it: ``0000:65:00.0``; NVML's domain has eight digits."""
    bus_id = text_of(api.Answer(field_of(pci, "busId", "busIdLegacy")))
    if bus_id is None or ":" not in bus_id:
        return None
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _pci_pair(value: object) -> str | None:
    """Return ``10de:2204`` of NVML's 0x220410DE: device in the upper half, vendor in the lower."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 32:
        return None
    return f"{value & 0xFFFF:04x}:{value >> 16:04x}"


def _missing(ledger: Ledger, what: str, why: str) -> None:
    ledger.finding(f"{what} not known", why, "the catalogue's figure is used where the device is in it")
