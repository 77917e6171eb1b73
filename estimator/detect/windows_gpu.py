"""GPUs of a Windows host that NVML does not speak for, from the display adapters in the registry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.facts import MemoryFacts
    from estimator.detect.seams import Seams

_IDS = re.compile(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)
_VENDORS = {"1002": "AMD", "8086": "Intel", "10de": "NVIDIA"}
_MOST_BYTES = 1 << 44


def read_windows_gpus(seams: Seams, memory: MemoryFacts, ledger: Ledger) -> tuple[GpuFacts, ...]:
    """Return the adapters of other vendors than NVIDIA, whose GPUs come from NVML."""
    del memory
    displays = seams.windows.displays if seams.windows else ()
    read = [gpu for number, display in enumerate(displays) if (gpu := _read(display, number)) is not None]
    for gpu in read:
        if gpu.vendor == "NVIDIA" and seams.nvml is None and not seams.live:
            ledger.finding(
                f"{gpu.name} could not be read", "there is no NVML here", "install NVIDIA's driver"
            )
    return tuple(gpu for gpu in read if gpu.vendor != "NVIDIA")


def _read(display: Mapping[str, object], index: int) -> GpuFacts | None:
    name, matching = display.get("DriverDesc"), display.get("MatchingDeviceId")
    match = _IDS.search(matching) if isinstance(matching, str) else None
    vendor = _VENDORS.get(match[1].lower()) if match else None
    if match is None or vendor is None:
        return None
    ledger = Ledger()
    total = display.get("HardwareInformation.qwMemorySize")
    size = total if isinstance(total, int) and 0 < total < _MOST_BYTES else None
    ledger.finding(
        f"compute units, clock and bandwidth of {name or 'the GPU'} not known",
        "the registry tells name and memory only",
        "the catalogue's figures are used where the device is in it",
    )
    version = display.get("DriverVersion")
    return GpuFacts(
        index=index,
        vendor=vendor,
        name=name.strip() if isinstance(name, str) and name.strip() else None,
        pci_id=f"{match[1].lower()}:{match[2].lower()}",
        memory_bytes=size,
        driver_version=version if isinstance(version, str) else None,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )
