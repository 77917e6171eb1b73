"""AMD GPUs from the kernel's compute topology (kfd), without ROCm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.detect.facts import GpuFacts
from estimator.detect.ledger import Ledger
from estimator.detect.nvidia_facts import pcie_bytes_per_s
from estimator.detect.pci import AMD, PcieLink, read_link
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.facts import MemoryFacts
    from estimator.detect.tree import Tree

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_NAMES = "/usr/share/libdrm/amdgpu.ids"
_MHZ, _BITS_A_BYTE = 1e6, 8
_MOST_MHZ, _MOST_BYTES, _MOST_UNITS, _MOST_BITS = 20_000, 1 << 44, 4096, 1 << 16
# Heap types of kfd's memory banks: the GPU's own memory, seen by the CPU or not.
_LOCAL_HEAPS = frozenset({1, 2})
_LANES_PER_UNIT = 64
_HBM_BITS = 1024
_MICROWATT = 1e-6


def read_amd(tree: Tree, memory: MemoryFacts, driver: str | None = None) -> tuple[GpuFacts, ...]:
    """Return the kfd nodes that have SIMDs (CPUs are nodes too); a partition is a node of its own."""
    nodes = [(n, _properties(tree, f"{_NODES}/{n}/properties")) for n in tree.names(_NODES)]
    gpus = [(n, p) for n, p in nodes if p.get("simd_count", 0) > 0]
    return tuple(_read_node(tree, n, p, i, memory=memory, driver=driver) for i, (n, p) in enumerate(gpus))


def _properties(tree: Tree, path: str) -> dict[str, int]:
    """Return ``name number`` lines; a name that comes twice or has no number is left out."""
    found: dict[str, int] = {}
    for line in (tree.text(path) or "").splitlines():
        name, _, value = line.strip().partition(" ")
        number = parse_integer(value)
        if number is not None:
            found.setdefault(name, number)
    return found


def _read_node(
    tree: Tree,
    node: str,
    properties: Mapping[str, int],
    index: int,
    *,
    memory: MemoryFacts,
    driver: str | None,
) -> GpuFacts:
    ledger = Ledger()
    target = gfx_target(properties.get("gfx_target_version"))
    units = _units(properties, ledger)
    clock_mhz = _bounded(properties.get("max_engine_clk_fcompute"), _MOST_MHZ)
    device = f"/sys/class/drm/renderD{properties.get('drm_render_minor', 0)}/device"
    total, bus, memory_mhz = _memory(tree, node, device)
    unified = _is_apu(properties, total)
    if unified:
        total = memory.usable_bytes
    link = PcieLink() if unified else read_link(tree, device)
    name = _name(tree, node, properties, device)
    for what, value in (("name", name), ("target", target), ("clock", clock_mhz), ("memory", total)):
        if value is None:
            ledger.finding(
                f"{what} of AMD GPU {index} not known", f"{_NODES}/{node} does not tell", "check `rocminfo`"
            )
    ledger.source("units", f"{_NODES}/{node}/properties")
    ledger.source("memory_bytes", "/proc/meminfo" if unified else f"{_NODES}/{node}/mem_banks")
    vendor_id, device_id = properties.get("vendor_id", AMD), properties.get("device_id")
    return GpuFacts(
        index=index,
        vendor="AMD",
        name=name,
        uuid=f"GPU-{properties['unique_id']:016x}" if properties.get("unique_id", 0) > 0 else None,
        pci_id=f"{vendor_id:04x}:{device_id:04x}" if device_id else None,
        pci_address=_address(properties),
        target=target,
        cores=units * _LANES_PER_UNIT if units else None,
        units=units,
        max_clock_hz=clock_mhz * _MHZ if clock_mhz else None,
        memory_bytes=total,
        memory_free_bytes=memory.available_bytes if unified else None,
        memory_bus_bits=None if unified else bus,
        memory_clock_hz=memory_mhz * _MHZ if memory_mhz and not unified else None,
        bandwidth_bytes_per_s=None if unified else _bandwidth(target, bus, memory_mhz, ledger),
        l2_bytes=_l2(tree, node),
        pcie_generation=link.generation,
        pcie_width=link.width,
        pcie_current_generation=link.current_generation,
        pcie_current_width=link.current_width,
        pcie_bytes_per_s=pcie_bytes_per_s(link.generation, link.width),
        power_limit_w=_watts(tree, device, "power1_cap"),
        power_max_w=_watts(tree, device, "power1_cap_max"),
        unified_memory=unified,
        laptop=None,
        driver_version=driver,
        provenance=ledger.provenance(),
        findings=ledger.findings(),
    )


def gfx_target(version: int | None) -> str | None:
    """Return the compiler's name: 90402 -> gfx942, 90010 -> gfx90a, 110501 -> gfx1151; 0 is a CPU."""
    if version is None or not 0 < version < 1_000_000:  # noqa: PLR2004 - two digits each of three parts
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _bounded(value: int | None, most: int) -> int | None:
    return value if value is not None and 0 < value <= most else None


def _units(properties: Mapping[str, int], ledger: Ledger) -> int | None:
    """Return compute units: SIMDs over SIMDs a unit."""
    simds, per_unit = properties.get("simd_count", 0), properties.get("simd_per_cu", 0)
    units = simds // per_unit if per_unit > 0 and simds % per_unit == 0 else None
    if _bounded(units, _MOST_UNITS) is None:
        ledger.finding(
            "number of compute units of the AMD GPU not known",
            f"simd_count {simds} and simd_per_cu {per_unit} give none",
            "check `rocminfo`; the catalogue's figure is used where the device is in it",
        )
        return None
    return units


def _memory(tree: Tree, node: str, device: str) -> tuple[int | None, int | None, int | None]:
    """Return bytes, bus width in bits and clock in MHz of the GPU's own memory banks."""
    base = f"{_NODES}/{node}/mem_banks"
    banks = [_properties(tree, f"{base}/{bank}/properties") for bank in tree.names(base)]
    local = [bank for bank in banks if bank.get("heap_type") in _LOCAL_HEAPS]
    total = sum(bank.get("size_in_bytes", 0) for bank in local) or tree.positive(
        f"{device}/mem_info_vram_total"
    )
    first = local[0] if local else {}
    return (
        _bounded(total, _MOST_BYTES),
        _bounded(first.get("width"), _MOST_BITS),
        _bounded(first.get("mem_clk_max"), _MOST_MHZ),
    )


def _is_apu(properties: Mapping[str, int], local_bytes: int | None) -> bool:
    """Say whether CPU cores and SIMDs share a node, or the GPU has no memory of its own."""
    return properties.get("cpu_cores_count", 0) > 0 or local_bytes is None


def _bandwidth(target: str | None, bus: int | None, mhz: int | None, ledger: Ledger) -> float | None:
    """Return bus / 8 x clock x transfers a clock; the driver's clock counts differently by memory type."""
    rate = _transfers(target, bus)
    if bus is None or mhz is None or rate is None:
        ledger.finding(
            "memory bandwidth of the AMD GPU not known",
            "the driver does not tell bus width and memory clock, or the type of its memory is not known",
            "the catalogue's figure is used where the device is in it",
        )
        return None
    ledger.source("bandwidth_bytes_per_s", "kfd mem_banks: width x mem_clk_max x transfers a clock")
    return bus / _BITS_A_BYTE * mhz * _MHZ * rate


def _transfers(target: str | None, bus: int | None) -> int | None:
    """Return transfers a reported clock: HBM2 2, HBM3 4, GDDR5 4, GDDR6 16 (AMD's data sheets)."""
    if target is None or bus is None:
        return None
    if bus >= _HBM_BITS:
        return 4 if target in {"gfx942", "gfx940", "gfx941", "gfx950"} else 2
    if target.startswith("gfx8"):
        return 4
    return 16 if re.match(r"gfx1[0-2]", target) else None


def _l2(tree: Tree, node: str) -> int | None:
    """Return the sum of the level-2 caches of a node (in KiB in kfd's lists)."""
    base = f"{_NODES}/{node}/caches"
    caches = [_properties(tree, f"{base}/{cache}/properties") for cache in tree.names(base)]
    sizes = [cache.get("size", 0) for cache in caches if cache.get("level") == 2]  # noqa: PLR2004 - level 2
    return _bounded(sum(sizes) << 10, _MOST_BYTES)


def _name(tree: Tree, node: str, properties: Mapping[str, int], device: str) -> str | None:
    """Return the marketing name by the driver or libdrm's list, else the kernel's name of the chip."""
    product = tree.line(f"{device}/product_name")
    if product:
        return product
    wanted, revision = properties.get("device_id"), tree.integer(f"{device}/revision")
    for line in (tree.text(_NAMES) or "").splitlines():
        fields = [field.strip() for field in line.split(",", 2)]
        if len(fields) == 3 and not line.startswith("#"):  # noqa: PLR2004 - device, revision, name
            numbers = [parse_integer(f"0x{field}") for field in fields[:2]]
            if wanted is not None and numbers == [wanted, revision]:
                return fields[2]
    return tree.line(f"{_NODES}/{node}/name")


def _address(properties: Mapping[str, int]) -> str | None:
    location = properties.get("location_id")
    if not location or not 0 < location < 1 << 16:
        return None
    domain = properties.get("domain", 0) & 0xFFFF
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"


def _watts(tree: Tree, device: str, name: str) -> float | None:
    for monitor in tree.names(f"{device}/hwmon"):
        microwatt = tree.positive(f"{device}/hwmon/{monitor}/{name}")
        if microwatt is not None and microwatt * _MICROWATT < 10_000:  # noqa: PLR2004 - no card takes 10 kW
            return microwatt * _MICROWATT
    return None
