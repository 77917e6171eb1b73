"""Intel GPUs from the kernel's display devices: the drivers tell ids, clock and memory, not Xe-cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.pci import INTEL, PciDevice, display_devices

if TYPE_CHECKING:
    from estimator.detect.facts import MemoryFacts
    from estimator.detect.tree import Tree

_DRM = "/sys/class/drm"
_MHZ = 1e6
_MOST_MHZ = 10_000
# Discrete Intel GPUs by PCI device id: pci-ids.ucw.cz, and the id table of Linux' drivers i915 and xe
# (include/drm/intel/pciids.h), which has ids that no product is named for.
DISCRETE = {
    0x56A0: "Arc A770", 0x56A1: "Arc A750", 0x56A2: "Arc A580", 0x56A5: "Arc A380", 0x56A6: "Arc A310",
    0x5690: "Arc A770M", 0x5691: "Arc A730M", 0x5692: "Arc A550M", 0x5693: "Arc A370M", 0x5694: "Arc A350M",
    0x5695: "Iris Xe MAX A200M", 0x56B0: "Arc Pro A30M", 0x56B1: "Arc Pro A40/A50",
    0x56C0: "Data Center GPU Flex 170", 0x56C1: "Data Center GPU Flex 140",
    0x4905: "Iris Xe MAX Graphics", 0x4906: "Iris Xe Pod", 0x4907: "Server GPU SG-18M",
    0x4908: "Iris Xe Graphics", 0x4909: "Iris Xe MAX 100",
    0xE20B: "Arc B580", 0xE20C: "Arc B570", 0xE211: "Arc Pro B60", 0xE212: "Arc Pro B50",
    0xE222: "Arc Pro B65", 0xE223: "Arc Pro B70",
    0x0BD5: "Data Center GPU Max 1550", 0x0BD6: "Data Center GPU Max 1550",
    0x0BD7: "Data Center GPU Max 1350", 0x0BD8: "Data Center GPU Max 1350",
    0x0BD9: "Data Center GPU Max 1100", 0x0BDA: "Data Center GPU Max 1100",
    0x0BDB: "Data Center GPU Max 1100",
}  # fmt: skip
# Every processor's own graphics sits here; a discrete GPU is behind a bridge.
_INTEGRATED_SLOT = "0000:00:02.0"
# High bytes of the integrated GPUs' ids in the same table (generation 6 to Panther Lake), for a tree
# without the bus. 0x49, 0x56 and 0xe2 are discrete ones.
_INTEGRATED = frozenset(
    {0x01, 0x04, 0x0A, 0x0C, 0x0D, 0x0F, 0x16, 0x19, 0x1A, 0x22, 0x31, 0x3E, 0x45, 0x46, 0x4C, 0x4E, 0x59,
     0x5A, 0x64, 0x7D, 0x87, 0x8A, 0x9A, 0x9B, 0xA7, 0xB0}
)  # fmt: skip


def read_intel(tree: Tree, memory: MemoryFacts, first_index: int = 0) -> tuple[GpuFacts, ...]:
    """Return Intel's GPUs; an integrated one uses main memory.

    The link is not read: a card's GPU sits behind a switch on the card and shows 2.5 GT/s x1 whatever the
    slot does (https://github.com/Syllo/nvtop/pull/344).
    """
    devices = [device for device in display_devices(tree) if device.vendor == INTEL]
    if not devices:
        devices = _drm_devices(tree)
    return tuple(_read(tree, device, first_index + n, memory) for n, device in enumerate(devices))


def _drm_devices(tree: Tree) -> list[PciDevice]:
    """Return the cards of a tree that has the display class and not the bus."""
    found = []
    for card in tree.names(_DRM):
        directory = f"{_DRM}/{card}/device"
        is_card = card.startswith("card") and card.removeprefix("card").isdigit()
        if is_card and tree.integer(f"{directory}/vendor") == INTEL:
            number = tree.integer(f"{directory}/device")
            if number is not None and 0 <= number < 1 << 16:
                found.append(PciDevice("", INTEL, number, directory))
    return found


def _read(tree: Tree, device: PciDevice, index: int, memory: MemoryFacts) -> GpuFacts:
    ledger = Ledger()
    name = DISCRETE.get(device.device)
    vram = _first(tree, device.directory, ("tile0/physical_vram_size_bytes", "lmem_total_bytes"))
    unified = name is None and vram is None and _is_integrated(device)
    total = memory.usable_bytes if unified else vram
    clock = _clock(tree, device)
    ledger.finding(
        f"compute units of {name or 'the Intel GPU'} not known",
        f"the kernel tells its PCI id ({device.pci_id}), not its Xe-cores",
        "the catalogue's figure is used where the device is in it",
    )
    for what, value in (("clock", clock), ("memory", total)):
        if value is None:
            ledger.finding(
                f"{what} of {name or 'the Intel GPU'} not known", "the driver's files do not tell",
                "the catalogue's figure is used where the device is in it",
            )  # fmt: skip
    return GpuFacts(
        index=index,
        vendor="Intel",
        name=name or f"Intel GPU {device.pci_id}",
        pci_id=device.pci_id,
        pci_address=device.address or None,
        max_clock_hz=clock,
        memory_bytes=total,
        memory_free_bytes=memory.available_bytes if unified else None,
        unified_memory=unified,
        laptop=name.endswith("M") and not name.startswith("Server") if name else None,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )


def _is_integrated(device: PciDevice) -> bool:
    """Say whether a GPU is the processor's own, by its slot, or by its id where the slot is not told."""
    if device.address:
        return device.address == _INTEGRATED_SLOT
    return device.device >> 8 in _INTEGRATED


def _first(tree: Tree, directory: str, names: tuple[str, ...]) -> int | None:
    return next(
        (value for name in names if (value := tree.positive(f"{directory}/{name}")) is not None), None
    )


def _clock(tree: Tree, device: PciDevice) -> float | None:
    """Return the highest hardware clock: the xe driver's rp0, or i915's RP0, in MHz."""
    places = [f"{device.directory}/tile0/gt0/freq0/rp0_freq", f"{device.directory}/gt_RP0_freq_mhz"]
    for card in tree.names(f"{device.directory}/drm"):
        base = f"{device.directory}/drm/{card}"
        places += [f"{base}/gt/gt0/rps_RP0_freq_mhz", f"{base}/gt_RP0_freq_mhz", f"{base}/gt_max_freq_mhz"]
    if not device.address:
        places.append(f"{device.directory.removesuffix('/device')}/gt_RP0_freq_mhz")
    mhz = next((value for place in places if (value := tree.positive(place)) is not None), None)
    return mhz * _MHZ if mhz is not None and mhz <= _MOST_MHZ else None
