"""What one unit (SM, CU, Xe-core, CPU core) of an architecture does in a clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.precision import DType
    from estimator.provenance import Provenance


class DeviceKind(StrEnum):
    """The two execution models the predictor knows."""

    GPU = "gpu"
    CPU = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """Per-clock rates of one unit.

    ``vector`` and ``matrix`` are dense fused multiply-adds a unit and clock, by number format (an FMA is
    2 FLOPs); ``matrix`` accumulates fp16, bf16 and fp8 in fp32, ``matrix_narrow`` in fp16.
    ``matrix_clock_scale`` is the clock at which matrix peaks are quoted over the boost clock (Hopper 0.924).
    ``unit_name`` is what the vendor calls a unit; ``lanes_per_unit`` its fp32 lanes (CUDA cores an SM;
    SIMD width x pipes for a CPU core). ``integers_share_lanes``: integer instructions run on some of them.

    ``targets`` are the compute capabilities (``8.6``) or processor names (``gfx90a``) that compilers and
    drivers report; ``market`` tells apart architectures that share one. ``cpuid`` lists (family, models,
    steppings) and ``arm_parts`` ``implementer/part`` pairs by which a CPU is recognised; no steppings means
    all of them. ``aliases`` are names used for it elsewhere (archspec).
    """

    id: str
    name: str
    vendor: str
    kind: DeviceKind
    unit_name: str
    lanes_per_unit: int
    vector: Mapping[DType, float]
    matrix: Mapping[DType, float] = field(default_factory=dict)
    matrix_narrow: Mapping[DType, float] = field(default_factory=dict)
    matrix_clock_scale: float = 1.0
    year: int | None = None
    target: str | None = None
    targets: tuple[str, ...] = ()
    market: str | None = None
    aliases: tuple[str, ...] = ()
    cpuid: tuple[tuple[int, frozenset[int], frozenset[int]], ...] = ()
    arm_parts: tuple[str, ...] = ()
    max_threads_per_unit: int | None = None
    max_blocks_per_unit: int | None = None
    simd_bits: int | None = None
    fma_pipes: int | None = None
    has_fma: bool = True
    integers_share_lanes: bool = False
    shared_memory_bytes: int | None = None
    note: str = ""
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
