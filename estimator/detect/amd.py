"""AMD GPUs from the kernel's compute topology (kfd), without ROCm."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from estimator.detect.facts import GpuFacts
from estimator.detect.kfd import (
    MOST_MHZ,
    NODES,
    bounded,
    l2_bytes,
    partition_number,
    pci_address,
    pci_slot,
    read_memory,
    read_properties,
)
from estimator.detect.ledger import Ledger
from estimator.detect.nvidia_facts import pcie_bytes_per_s
from estimator.detect.pci import AMD, PcieLink, read_link
from estimator.detect.tree import parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.facts import MemoryFacts
    from estimator.detect.tree import Tree

_NAMES = "/usr/share/libdrm/amdgpu.ids"
_MHZ, _BITS_A_BYTE = 1e6, 8
_MOST_UNITS = 4096
_LANES_PER_UNIT = 64
_HBM_BITS = 1024
_MICROWATT = 1e-6
# Targets that only processors with graphics have: LLVM's "User Guide for AMDGPU Backend", processor type APU.
_APU_TARGETS = frozenset(
    {"gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037",
     "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}
)  # fmt: skip


def read_amd(tree: Tree, memory: MemoryFacts, driver: str | None = None) -> tuple[GpuFacts, ...]:
    """Return the kfd nodes that have SIMDs (CPUs are nodes too); a partition is a node of its own."""
    nodes = [(n, read_properties(tree, f"{NODES}/{n}/properties")) for n in tree.names(NODES)]
    gpus = [(n, p) for n, p in nodes if p.get("simd_count", 0) > 0]
    slots = Counter(pci_slot(p) for _, p in gpus)
    return tuple(
        _read_node(
            tree, n, p, i, memory=memory, driver=driver, alone=slots[pci_slot(p)] == 1 or pci_slot(p) is None
        )
        for i, (n, p) in enumerate(gpus)
    )


def _read_node(
    tree: Tree,
    node: str,
    properties: Mapping[str, int],
    index: int,
    *,
    memory: MemoryFacts,
    driver: str | None,
    alone: bool,
) -> GpuFacts:
    """Read one node; ``alone`` says that no other node is a part of the same card."""
    ledger = Ledger()
    target = gfx_target(properties.get("gfx_target_version"))
    units = _units(properties, ledger)
    clock_mhz = bounded(properties.get("max_engine_clk_fcompute"), MOST_MHZ)
    device = f"/sys/class/drm/renderD{properties.get('drm_render_minor', 0)}/device"
    total, bus, memory_mhz = read_memory(tree, node, device)
    unified = _is_apu(properties, target, total)
    if unified:
        total = memory.usable_bytes
    link = PcieLink() if unified else read_link(tree, device)
    whole = alone and _is_whole(tree, properties, device)
    bandwidth = _bandwidth(target, bus, memory_mhz, ledger, unified=unified, whole=whole)
    name = _name(tree, node, properties, device)
    for what, value in (("name", name), ("target", target), ("clock", clock_mhz), ("memory", total)):
        if value is None:
            ledger.finding(
                f"{what} of AMD GPU {index} not known", f"{NODES}/{node} does not tell", "check `rocminfo`"
            )
    ledger.source("units", f"{NODES}/{node}/properties")
    ledger.source("memory_bytes", "/proc/meminfo" if unified else f"{NODES}/{node}/mem_banks")
    vendor_id, device_id = properties.get("vendor_id", AMD), properties.get("device_id")
    return GpuFacts(
        index=index,
        vendor="AMD",
        name=name,
        uuid=f"GPU-{properties['unique_id']:016x}" if properties.get("unique_id", 0) > 0 else None,
        pci_id=f"{vendor_id:04x}:{device_id:04x}" if device_id else None,
        pci_address=pci_address(properties),
        target=target,
        cores=units * _LANES_PER_UNIT if units else None,
        units=units,
        max_clock_hz=clock_mhz * _MHZ if clock_mhz else None,
        memory_bytes=total,
        memory_free_bytes=memory.available_bytes if unified else None,
        memory_bus_bits=None if unified else bus,
        memory_clock_hz=memory_mhz * _MHZ if memory_mhz and not unified else None,
        bandwidth_bytes_per_s=bandwidth,
        l2_bytes=l2_bytes(tree, node),
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


def _units(properties: Mapping[str, int], ledger: Ledger) -> int | None:
    """Return compute units: SIMDs over SIMDs a unit."""
    simds, per_unit = properties.get("simd_count", 0), properties.get("simd_per_cu", 0)
    units = simds // per_unit if per_unit > 0 and simds % per_unit == 0 else None
    if bounded(units, _MOST_UNITS) is None:
        ledger.finding(
            "number of compute units of the AMD GPU not known",
            f"simd_count {simds} and simd_per_cu {per_unit} give none",
            "check `rocminfo`; the catalogue's figure is used where the device is in it",
        )
        return None
    return units


def _is_apu(properties: Mapping[str, int], target: str | None, local_bytes: int | None) -> bool:
    """Say whether CPU cores and SIMDs share a node or a chip, or the GPU has no memory of its own.

    Newer kernels give the graphics of a processor a node of its own, whose memory is what the firmware sets
    aside of main memory.
    """
    return properties.get("cpu_cores_count", 0) > 0 or target in _APU_TARGETS or local_bytes is None


def _is_whole(tree: Tree, properties: Mapping[str, int], device: str) -> bool:
    """Say whether a node is a whole card (mode SPX, or a card that cannot be divided)."""
    return not partition_number(properties) and tree.line(f"{device}/current_compute_partition") in {
        None,
        "SPX",
    }


def _bandwidth(
    target: str | None, bus: int | None, mhz: int | None, ledger: Ledger, *, unified: bool, whole: bool
) -> float | None:
    """Return bus / 8 x clock x transfers a clock; the driver's clock counts differently by memory type."""
    if unified:
        ledger.finding(
            "memory bandwidth of the AMD GPU not known",
            "it uses main memory, and the driver does not tell the type of that",
            "the catalogue's figure is used where the device is in it",
        )
        return None
    if not whole:
        ledger.finding(
            "memory bandwidth of a partition of the AMD GPU not known",
            "the driver tells that of the whole card, which its partitions share",
            "use the card undivided (`amd-smi set --compute-partition SPX`), or measure it",
        )
        return None
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
    return tree.line(f"{NODES}/{node}/name")


def _watts(tree: Tree, device: str, name: str) -> float | None:
    for monitor in tree.names(f"{device}/hwmon"):
        microwatt = tree.positive(f"{device}/hwmon/{monitor}/{name}")
        if microwatt is not None and microwatt * _MICROWATT < 10_000:  # noqa: PLR2004 - no card takes 10 kW
            return microwatt * _MICROWATT
    return None
