"""MIG: the slices of a partitioned NVIDIA GPU, each a device of its own to a framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.nvidia_facts import CORES_PER_SM, tensor_cores
from estimator.detect.nvml import Answer, ask, field_of, number_of, text_of
from estimator.provenance import Basis

if TYPE_CHECKING:
    from estimator.detect.nvml import NvmlLike

_MOST_SLICES, _MOST_SMS, _MIB = 64, 1024, 1 << 20
# A100, H100 and their kin cut their memory and its bandwidth in eight.
_MEMORY_SLICES = 8
_PROFILE = re.compile(r"\b([0-9]+(?:c\.[0-9]+)?g\.[0-9]+gb(?:\+me(?:\.all)?)?)\b", re.IGNORECASE)


def mig_enabled(nvml: NvmlLike, handle: object) -> bool | None:
    """Say whether a GPU is partitioned now; None where it cannot be."""
    answer = ask(nvml, "nvmlDeviceGetMigMode", handle)
    value = answer.value
    if not answer.ok or not isinstance(value, (tuple, list)) or not value:
        return None
    return bool(value[0] == 1)


def mig_slices(nvml: NvmlLike, handle: object, parent: GpuFacts) -> tuple[GpuFacts, ...]:
    """Return the slices that exist; their numbers have holes."""
    most = number_of(ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle), most=_MOST_SLICES) or _MEMORY_SLICES
    handles = (ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, index) for index in range(most))
    return tuple(_slice(nvml, found.value, parent) for found in handles if found.ok)


def _slice(nvml: NvmlLike, handle: object, parent: GpuFacts) -> GpuFacts:
    ledger = Ledger()
    name = text_of(ask(nvml, "nvmlDeviceGetName", handle))
    attributes = ask(nvml, "nvmlDeviceGetAttributes_v2", handle)
    if not attributes.ok:
        attributes = ask(nvml, "nvmlDeviceGetAttributes", handle)
    units = number_of(Answer(field_of(attributes, "multiprocessorCount")), most=_MOST_SMS)
    memory = _memory(nvml, handle, attributes)
    per_sm = CORES_PER_SM.get(parent.compute_capability or (0, 0))
    profile = _PROFILE.search(name or "")
    bandwidth = _bandwidth(memory, parent)
    if bandwidth is not None:
        ledger.source(
            "bandwidth_bytes_per_s", "share of the GPU's memory slices", basis=Basis.DERIVED,
            note="eighths of the memory carry eighths of the bandwidth",
        )  # fmt: skip
    if units is None:
        ledger.finding(
            f"number of SMs of the MIG slice {name or ''} not known".replace("  ", " "),
            attributes.reason or "the driver answers 0",
            "update the driver to R470 or newer",
        )
    return GpuFacts(
        index=parent.index,
        vendor=parent.vendor,
        name=name or parent.name,
        uuid=text_of(ask(nvml, "nvmlDeviceGetUUID", handle)),
        pci_id=parent.pci_id,
        pci_subsystem=parent.pci_subsystem,
        pci_address=parent.pci_address,
        compute_capability=parent.compute_capability,
        target=parent.target,
        cores=units * per_sm if units is not None and per_sm is not None else None,
        units=units,
        tensor_cores=tensor_cores(parent.name, parent.compute_capability, units),
        max_clock_hz=parent.max_clock_hz,
        current_clock_hz=parent.current_clock_hz,
        memory_bytes=memory,
        bandwidth_bytes_per_s=bandwidth,
        pcie_generation=parent.pcie_generation,
        pcie_width=parent.pcie_width,
        pcie_bytes_per_s=parent.pcie_bytes_per_s,
        power_limit_w=None,
        mig_enabled=True,
        mig_profile=profile[1] if profile else None,
        parent_index=parent.index,
        laptop=parent.laptop,
        driver_version=parent.driver_version,
        runtime_version=parent.runtime_version,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )


def _memory(nvml: NvmlLike, handle: object, attributes: Answer) -> int | None:
    total = number_of(Answer(field_of(ask(nvml, "nvmlDeviceGetMemoryInfo", handle), "total")), most=1 << 44)
    if total is not None:
        return total
    mebibytes = number_of(Answer(field_of(attributes, "memorySizeMB")), most=1 << 24)
    return mebibytes * _MIB if mebibytes is not None else None


def _bandwidth(memory: int | None, parent: GpuFacts) -> float | None:
    if memory is None or not parent.memory_bytes or parent.bandwidth_bytes_per_s is None:
        return None
    eighths = max(1, round(_MEMORY_SLICES * memory / parent.memory_bytes))
    return parent.bandwidth_bytes_per_s * min(eighths, _MEMORY_SLICES) / _MEMORY_SLICES
