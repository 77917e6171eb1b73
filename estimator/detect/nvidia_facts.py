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

# Tensor cores of one SM by compute capability: whitepapers (V100 640 on 80, A100 432 on 108,
# GA102 336 on 84, AD102 576 on 144, H100 528 on 132) and data sheets (Xavier, Orin, GB10).
_TENSOR_CORES_PER_SM = {
    (7, 0): 8, (7, 2): 8, (7, 5): 8, (8, 0): 4, (8, 6): 4, (8, 7): 4, (8, 9): 4, (9, 0): 4, (10, 0): 4,
    (12, 0): 4, (12, 1): 4,
}  # fmt: skip
_FIRST_WITH_TENSOR_CORES, _TURING = (7, 0), (7, 5)
# Turing chips are sold with and without them: TU10x and TU11x.
_TURING_WITH, _TURING_WITHOUT = re.compile(r"RTX|\bT4\b"), re.compile(r"GTX 16|\bMX\d|\bT\d{3,4}\b")

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


def tensor_cores_per_sm(name: str | None, capability: tuple[int, int] | None) -> int | None:
    """Return the tensor cores of one SM: 0 for a chip without, None where it is not known."""
    if capability is None:
        return None
    if capability < _FIRST_WITH_TENSOR_CORES:
        return 0
    if capability == _TURING and not _TURING_WITH.search(name or ""):
        return 0 if _TURING_WITHOUT.search(name or "") else None
    return _TENSOR_CORES_PER_SM.get(capability)


def tensor_cores(name: str | None, capability: tuple[int, int] | None, units: int | None) -> int | None:
    """Return all tensor cores of a GPU of ``units`` SMs, None where one of the two is not known."""
    per_sm = tensor_cores_per_sm(name, capability)
    return None if per_sm is None or units is None else per_sm * units


def pcie_bytes_per_s(generation: int | None, width: int | None) -> float | None:
    """Return the link's rate in one direction, None where generation or width are not known."""
    lane = PCIE_LANE_BYTES_PER_S.get(generation or 0)
    return lane * width if lane is not None and width in PCIE_WIDTHS and width else None
