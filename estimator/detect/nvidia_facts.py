"""What NVML does not tell about NVIDIA's GPUs: cores an SM, speeds of links, names of shared-memory chips."""

from __future__ import annotations

import re

# fp32 lanes of one SM by compute capability: CUDA samples helper_cuda.h; whitepapers of each generation.
CORES_PER_SM = {
    (2, 0): 32, (2, 1): 48, (3, 0): 192, (3, 2): 192, (3, 5): 192, (3, 7): 192, (5, 0): 128, (5, 2): 128,
    (5, 3): 128, (6, 0): 64, (6, 1): 128, (6, 2): 128, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64,
    (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (10, 1): 128, (10, 3): 128,
    (11, 0): 128, (12, 0): 128, (12, 1): 128,
}  # fmt: skip

# Bytes a second of one NVLink in one direction, by compute capability of the GPU (generation whitepapers).
NVLINK_BYTES_PER_S = {
    (6, 0): 20e9, (7, 0): 25e9, (7, 5): 25e9, (8, 0): 25e9, (8, 6): 14.0625e9, (9, 0): 25e9, (10, 0): 50e9,
    (10, 3): 50e9,
}  # fmt: skip

# Bytes a second of one PCIe lane in one direction after line coding, by generation (PCI-SIG).
PCIE_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.9846e9, 4: 1.9692e9, 5: 3.9385e9, 6: 7.5625e9}
PCIE_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})

# Chips that share main memory with the CPU: NVML's memory, bus and PCIe answers mean nothing there.
_UNIFIED = re.compile(r"\b(GB10|N1X|Orin|Xavier|Thor|Tegra|Jetson|TX[12]|nvgpu)\b", re.IGNORECASE)
_UNIFIED_CAPABILITIES = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0), (12, 1)})
_LAPTOP = re.compile(
    r"Laptop|Max-Q|Mobile|GeForce (?:G?TX? )?\d{3}M\b|Quadro (?:[KMPT]?\d{3,4}|RTX \d{4})M\b", re.IGNORECASE
)


def is_unified(name: str | None, capability: tuple[int, int] | None) -> bool:
    """Say whether a GPU uses main memory as its own: by name, or by a capability only such chips have."""
    return bool(_UNIFIED.search(name or "")) or capability in _UNIFIED_CAPABILITIES


def is_laptop_name(name: str | None) -> bool:
    """Say whether a name is that of a laptop part, which is another chip than the desktop's."""
    return bool(_LAPTOP.search(name or ""))


def names_its_variant(name: str | None) -> bool:
    """Say whether a name without "Laptop" is surely a desktop's: so from the RTX 30 series on."""
    return bool(re.search(r"RTX (?:[3-9]0|A|PRO)|[ABHLVTP]\d{2,3}\b|Tesla|Titan", name or "", re.IGNORECASE))


def pcie_bytes_per_s(generation: int | None, width: int | None) -> float | None:
    """Return the link's rate in one direction, None where generation or width are not known."""
    lane = PCIE_LANE_BYTES_PER_S.get(generation or 0)
    return lane * width if lane is not None and width in PCIE_WIDTHS and width else None
