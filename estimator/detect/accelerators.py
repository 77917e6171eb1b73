"""All accelerators of a host, vendor by vendor, and those on the bus that no driver speaks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.detect.amd import read_amd
from estimator.detect.apple_gpu import read_apple_gpus
from estimator.detect.intel_gpu import read_intel
from estimator.detect.jetson import read_jetson
from estimator.detect.nvidia import read_nvidia
from estimator.detect.nvidia_facts import names_its_variant
from estimator.detect.nvml import load_binding
from estimator.detect.pci import AMD, NVIDIA, display_devices
from estimator.detect.windows_gpu import read_windows_gpus
from estimator.provenance import Finding

if TYPE_CHECKING:
    from estimator.detect.facts import GpuFacts, MemoryFacts
    from estimator.detect.ledger import Ledger
    from estimator.detect.seams import Seams


def read_accelerators(seams: Seams, memory: MemoryFacts, ledger: Ledger) -> tuple[GpuFacts, ...]:
    """Return every accelerator, NVIDIA's first; each GPU's own findings stay with it."""
    if seams.system == "darwin":
        return read_apple_gpus(seams, memory, ledger)
    nvidia = _nvidia(seams, memory, ledger)
    if seams.system == "windows":
        return nvidia + read_windows_gpus(seams, memory, ledger)
    nvidia = nvidia or read_jetson(seams.tree, memory)
    driver = seams.tree.line("/sys/module/amdgpu/version")
    amd = read_amd(seams.tree, memory, driver)
    _unspoken(seams, ledger, nvidia=bool(nvidia), amd=bool(amd))
    return nvidia + amd + read_intel(seams.tree, memory)


def _nvidia(seams: Seams, memory: MemoryFacts, ledger: Ledger) -> tuple[GpuFacts, ...]:
    nvml, reason = seams.nvml, None
    if nvml is None and seams.live:
        nvml, reason = load_binding()
    if reason is not None:
        ledger.finding("NVIDIA GPUs were not looked for", reason, "pip install nvidia-ml-py")
    gpus = read_nvidia(nvml, memory, ledger) if nvml is not None else ()
    return tuple(_variant(gpu) for gpu in gpus) if _is_portable(seams) else gpus


def _is_portable(seams: Seams) -> bool:
    """Say whether the chassis is a laptop's (SMBIOS types: portable, laptop, notebook, convertible...)."""
    return seams.tree.integer("/sys/class/dmi/id/chassis_type") in {8, 9, 10, 14, 30, 31, 32}


def _variant(gpu: GpuFacts) -> GpuFacts:
    """Return the GPU with "laptop part" left open where its name is that of the desktop card too."""
    if gpu.laptop is not False or names_its_variant(gpu.name):
        return gpu
    found = Finding(
        what=f"whether {gpu.name} is the laptop part not known",
        why="it sits in a laptop, and drivers before the RTX 30 series use the desktop card's name",
        remedy="name the device with --device",
    )
    return replace(gpu, laptop=None, findings=(*gpu.findings, found))


def _unspoken(seams: Seams, ledger: Ledger, *, nvidia: bool, amd: bool) -> None:
    """Say that a GPU sits on the bus whose driver does not answer."""
    advice = {
        NVIDIA: (nvidia, "NVIDIA", "NVML does not list it: no driver, or it is bound to another one",
                 "install NVIDIA's driver and check `nvidia-smi`"),
        AMD: (amd, "AMD", "the kernel's compute topology (/sys/class/kfd) does not list it",
              "load amdgpu with kfd, or use a GPU that ROCm supports"),
    }  # fmt: skip
    for device in display_devices(seams.tree):
        seen, vendor, why, remedy = advice.get(device.vendor, (True, "", "", ""))
        if not seen:
            ledger.finding(
                f"a display device of {vendor} ({device.pci_id} at {device.address}) cannot be used",
                why,
                remedy,
            )
