"""Display and compute devices on the PCI bus of a Linux host, drivers or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from estimator.detect.nvidia_facts import PCIE_LANE_BYTES_PER_S, PCIE_WIDTHS
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from estimator.detect.tree import Tree

NVIDIA, AMD, INTEL = 0x10DE, 0x1002, 0x8086
_BUS = "/sys/bus/pci/devices"
_DISPLAY, _ACCELERATOR = 0x03, 0x12
_GT_PER_S = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*GT/s", re.IGNORECASE)
# sysfs gives the rate of a lane; the generation follows from it (PCI-SIG).
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


class PciDevice(NamedTuple):
    """A device's slot, ids and directory."""

    address: str
    vendor: int
    device: int
    directory: str

    @property
    def pci_id(self) -> str:
        """The pair as ``vendor:device`` in hex."""
        return f"{self.vendor:04x}:{self.device:04x}"


class PcieLink(NamedTuple):
    """The link of a device now and at most; None is "not known"."""

    generation: int | None = None
    width: int | None = None
    current_generation: int | None = None
    current_width: int | None = None


def display_devices(tree: Tree) -> tuple[PciDevice, ...]:
    """Return the display controllers and accelerators on the bus, in slot order."""
    found = []
    for address in tree.names(_BUS):
        directory = f"{_BUS}/{address}"
        number = tree.integer(f"{directory}/class")
        if number is None or number >> 16 not in {_DISPLAY, _ACCELERATOR}:
            continue
        vendor, device = tree.integer(f"{directory}/vendor"), tree.integer(f"{directory}/device")
        if vendor is not None and device is not None and 0 < vendor < 1 << 16 and 0 <= device < 1 << 16:
            found.append(PciDevice(address, vendor, device, directory))
    return tuple(found)


def read_link(tree: Tree, directory: str) -> PcieLink:
    """Return a device's link: the speed in sysfs is that of a lane, not of the whole link."""
    return PcieLink(
        generation=_generation(tree.line(f"{directory}/max_link_speed")),
        width=_width(tree.line(f"{directory}/max_link_width")),
        current_generation=_generation(tree.line(f"{directory}/current_link_speed")),
        current_width=_width(tree.line(f"{directory}/current_link_width")),
    )


def _generation(text: str | None) -> int | None:
    match = _GT_PER_S.match(text or "")
    generation = _GENERATIONS.get(float(match[1])) if match else None
    return generation if generation in PCIE_LANE_BYTES_PER_S else None


def _width(text: str | None) -> int | None:
    width = parse_integer(text)
    return width if width in PCIE_WIDTHS else None
