"""Jetson boards: GPU in the processor's chip, found by the device tree where NVML has no answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.nvidia_facts import CORES_PER_SM, tensor_cores

if TYPE_CHECKING:
    from estimator.detect.facts import MemoryFacts
    from estimator.detect.tree import Tree

_DEVICE_TREES = ("/proc/device-tree", "/sys/firmware/devicetree/base")
_DEVFREQ = "/sys/class/devfreq"
_GPU_CLOCK = re.compile(r"\.(gpu|gm20b|gp10b|gv11b|ga10b|gb10b)$|^gpu")


class _Chip(NamedTuple):
    capability: tuple[int, int]
    # SMs where every board of the chip has as many; None where boards differ.
    units: int | None


# NVIDIA Jetson module data sheets: compute capability and SMs by Tegra.
_CHIPS = {
    "tegra210": _Chip((5, 3), None),
    "tegra186": _Chip((6, 2), 2),
    "tegra194": _Chip((7, 2), None),
    "tegra234": _Chip((8, 7), None),
    "tegra264": _Chip((11, 0), None),
}
# SMs of the modules of one chip, by what the device tree's model says; the longer names first.
_MODULES = (
    (re.compile(r"AGX Xavier", re.IGNORECASE), 8),
    (re.compile(r"Xavier NX", re.IGNORECASE), 6),
    (re.compile(r"Orin Nano.*4\s*GB", re.IGNORECASE), 4),
    (re.compile(r"Orin Nano", re.IGNORECASE), 8),
    (re.compile(r"Orin NX", re.IGNORECASE), 8),
    (re.compile(r"AGX Orin.*32\s*GB", re.IGNORECASE), 14),
    (re.compile(r"AGX Orin.*64\s*GB", re.IGNORECASE), 16),
    (re.compile(r"Jetson[- ]TX1", re.IGNORECASE), 2),
    (re.compile(r"Jetson Nano", re.IGNORECASE), 1),
)


def read_jetson(tree: Tree, memory: MemoryFacts) -> tuple[GpuFacts, ...]:
    """Return the GPU of a Jetson board, nothing on any other machine."""
    found = _chip(tree)
    if found is None:
        return ()
    chip, model = found
    ledger = Ledger()
    units = chip.units or next((sms for pattern, sms in _MODULES if pattern.search(model or "")), None)
    if units is None:
        ledger.finding(
            "number of SMs of the Jetson's GPU not known",
            f"the module {model!r} comes with more than one",
            "name the device with --device",
        )
    else:
        ledger.source("units", "device tree model and NVIDIA's module data sheet")
    if memory.usable_bytes is None:
        ledger.finding(
            "memory of the GPU not known", "it is main memory, whose size is not known", "mount /proc"
        )
    clock = _clock(tree)
    major, minor = chip.capability
    return (
        GpuFacts(
            index=0,
            vendor="NVIDIA",
            name=model,
            framework_index=0,
            compute_capability=chip.capability,
            target=f"sm_{major}{minor}",
            cores=units * CORES_PER_SM[chip.capability] if units else None,
            units=units,
            tensor_cores=tensor_cores(None, chip.capability, units),
            max_clock_hz=clock,
            memory_bytes=memory.usable_bytes,
            memory_free_bytes=memory.available_bytes,
            unified_memory=True,
            laptop=False,
            provenance=ledger.provenance(),
            findings=ledger.findings(),
        ),
    )


def _chip(tree: Tree) -> tuple[_Chip, str | None] | None:
    for base in _DEVICE_TREES:
        compatible = (tree.text(f"{base}/compatible") or "").replace("\0", ",").lower()
        for name, chip in _CHIPS.items():
            if name in compatible:
                return chip, tree.line(f"{base}/model")
    return None


def _clock(tree: Tree) -> float | None:
    """Return the GPU's highest clock in Hz, which devfreq writes in Hz."""
    for name in tree.names(_DEVFREQ):
        if _GPU_CLOCK.search(name):
            hz = tree.positive(f"{_DEVFREQ}/{name}/max_freq")
            if hz is not None and 50e6 <= hz <= 10e9:  # noqa: PLR2004 - the same sanity limits as a core's
                return float(hz)
    return None
