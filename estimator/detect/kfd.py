"""The kernel's compute topology (kfd): properties of a node, its memory, its caches and where it sits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.tree import Tree

NODES = "/sys/class/kfd/kfd/topology/nodes"
MOST_MHZ, MOST_BYTES = 20_000, 1 << 44
_MOST_BITS = 1 << 16
# Heap types of kfd's memory banks: the GPU's own memory, seen by the CPU or not.
_LOCAL_HEAPS = frozenset({1, 2})
# Bits 31:28 of location_id are the number of a partition, bits 15:0 bus, device and function.
_PARTITION_SHIFT, _LOCATION = 28, 0x0FFF_FFFF


def read_properties(tree: Tree, path: str) -> dict[str, int]:
    """Return ``name number`` lines; a name that comes twice or has no number is left out."""
    found: dict[str, int] = {}
    for line in (tree.text(path) or "").splitlines():
        name, _, value = line.strip().partition(" ")
        number = parse_integer(value)
        if number is not None:
            found.setdefault(name, number)
    return found


def bounded(value: int | None, most: int) -> int | None:
    """Return a number above 0 and up to ``most``, else None."""
    return value if value is not None and 0 < value <= most else None


def read_memory(tree: Tree, node: str, device: str) -> tuple[int | None, int | None, int | None]:
    """Return bytes, bus width in bits and clock in MHz of the GPU's own memory banks."""
    base = f"{NODES}/{node}/mem_banks"
    banks = [read_properties(tree, f"{base}/{bank}/properties") for bank in tree.names(base)]
    local = [bank for bank in banks if bank.get("heap_type") in _LOCAL_HEAPS]
    total = sum(bank.get("size_in_bytes", 0) for bank in local) or tree.positive(
        f"{device}/mem_info_vram_total"
    )
    first = local[0] if local else {}
    return (
        bounded(total, MOST_BYTES),
        bounded(first.get("width"), _MOST_BITS),
        bounded(first.get("mem_clk_max"), MOST_MHZ),
    )


def l2_bytes(tree: Tree, node: str) -> int | None:
    """Return the sum of the level-2 caches of a node (in KiB in kfd's lists)."""
    base = f"{NODES}/{node}/caches"
    caches = [read_properties(tree, f"{base}/{cache}/properties") for cache in tree.names(base)]
    sizes = [cache.get("size", 0) for cache in caches if cache.get("level") == 2]  # noqa: PLR2004 - level 2
    return bounded(sum(sizes) << 10, MOST_BYTES)


def pci_address(properties: Mapping[str, int]) -> str | None:
    """Return the slot as sysfs writes it: ``0000:07:00.0``."""
    location = properties.get("location_id", 0) & _LOCATION
    if not 0 < location < 1 << 16:
        return None
    domain = properties.get("domain", 0) & 0xFFFF
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"


def pci_slot(properties: Mapping[str, int]) -> str | None:
    """Return the address without the function: partitions of a card are functions or numbers of one slot."""
    address = pci_address(properties)
    return address.partition(".")[0] if address else None


def partition_number(properties: Mapping[str, int]) -> int:
    """Return the number of a partition of a card; 0 is the first or the whole card."""
    return properties.get("location_id", 0) >> _PARTITION_SHIFT
