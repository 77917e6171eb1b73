"""Attained shares of a device's ceilings: the coefficients a cost model is calibrated by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How near to its ceilings a GPU runs one class of kernels.

    A kernel takes ``((tc (1 + depth / K) / compute)^order + (tm / memory)^order)^(1 / order)`` where tc and
    tm are its times at peak rate and at datasheet bandwidth. ``compute`` is a share of the peak (above 1
    for Winograd, which multiplies less, and for boards that boost above their datasheet clock);
    ``memory`` a share of the bandwidth; ``order`` 1 (the terms add), 2 or 4 (nearly the larger of the two);
    ``step_s`` the cost of each step that must wait for the one before it.
    """

    compute: float = 1.0
    memory: float = 1.0
    depth: float = 0.0
    order: int = 4
    step_s: float = 0.0
    spread: float | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a group of devices (vendor, architecture, device) attains relative to the level above it.

    ``compute`` is for vector units, ``matrix`` for matrix units, ``double`` for products in fp64, which
    libraries tune for few devices; ``kinds`` scales the speed of one class of kernels on top, or of its
    passes in one direction (``conv@backward``), or of its fp64 ones (``conv/fp64``); ``rows`` counts the
    measurements it rests on.
    """

    compute: float = 1.0
    matrix: float = 1.0
    double: float = 1.0
    memory: float = 1.0
    launch: float = 1.0
    kinds: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0
    spread: float | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEfficiency:
    """All classes of GPU kernels, keyed ``kind``, ``kind/path`` or ``kind/path/layout``.

    ``launch_s`` is what a kernel costs on the device beside its work; ``cache_gain`` how much faster
    traffic runs that fits the last-level cache; ``scalar_flop_per_s`` the rate of one lane, for work that
    cannot be spread.

    Two limits of every unit, known from its architecture: to draw x bytes a clock it must keep so many
    requests in flight, so bandwidth is attained as ``1 / (1 + x / flight_bytes_per_clock)``; and the faster
    its matrix units are, the harder they are to feed from its own memory: ``(rate / 1024 bytes)^-feed``.
    Both are 1 at the V100's figures; 0 turns one off.

    A board needs ``power_w_per_tflop`` watts for each fp32 TFLOP/s of its peak in 2016, half of it each
    ``power_halving_years`` later; one that is given less keeps up (given / needed)^``power_exponent``.
    """

    regimes: Mapping[str, Regime]
    launch_s: float
    cache_gain: float = 0.0
    flight_bytes_per_clock: float = 0.0
    feed: float = 0.0
    scalar_flop_per_s: float = 3e9
    power_w_per_tflop: float = 0.0
    power_halving_years: float = 3.2
    power_exponent: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRegime:
    """How one class of operators runs on a CPU; the terms add (reorders run before and after the product).

    ``compute`` is a share of the peak; ``memory`` of what the cores can draw, for activations, and
    ``weights`` for parameters (None: the same); ``cycles`` the core clocks an element takes, instead of
    ``memory``, divided by the cores unless ``serial``; ``overhead_s`` a launch.
    """

    compute: float = 0.6
    memory: float = 0.43
    weights: float | None = None
    cycles: float = 0.0
    serial: bool = False
    overhead_s: float = 0.0
    step_s: float = 0.0
    spread: float | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuEfficiency:
    """All classes of CPU operators, keyed ``kind`` or ``kind@phase``, and what the memory system costs.

    A core streams ``core_bytes_per_clock``; all of them together attain ``bus_share`` of the memory's
    bandwidth. Outputs from ``fault_bytes`` up are mapped afresh each step, at ``fault_s`` a page of 4 KiB
    (over the square root of the cores; in a virtual machine ``virtual_faults`` times that, because the
    hypervisor's page tables follow), unless the framework pools memory. Cores that share an operator
    start and end it together: ``barrier_s`` for each doubling of their number. Each of them gets at
    least ``grain_elements`` of a loop (ATen's grain size), ``grain_flops`` of a product (OpenBLAS: 4 times
    65,536 multiply-adds).
    """

    regimes: Mapping[str, CpuRegime]
    core_bytes_per_clock: float
    fault_bytes: float
    fault_s: float
    virtual_faults: float
    bus_share: float = 0.8
    scalar_flop_per_cycle: float = 1.0
    barrier_s: float = 0.0
    grain_elements: float = 1.0
    grain_flops: float = 1.0


# From pinned memory over the sixteen lanes of PCIe 3 that most hosts of these years have.
PINNED_COPY_BYTES_PER_S = 12e9


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareFactors:
    """What a framework (and release) does to the time of kernels, by class; 1 is current PyTorch.

    ``until`` is the last year (of release) it holds for. ``host_s`` is what the host needs to issue one
    kernel, ``launch`` the factor on what each costs on the device; ``call_s`` what the host needs beside for
    each call of a step (forward, backward, optimizer): Python's bookkeeping, the hand-over to the thread that
    runs the backward pass, copies and waits that end a step.
    ``winograd`` tells whether fp32 3x3 convolutions may use it; ``lowered`` whether convolutions copy the
    windows of one sample after the other to a matrix (im2col) and multiply each; ``pools_memory`` whether
    outputs are mapped afresh; ``kinds`` time factors by class of kernel, ``time`` by all; ``cpu_kinds`` the
    same for CPUs, where an operator costs ``operator_s`` more than in PyTorch and the instructions that the
    build may use do ``flop_per_clock`` fp32 FLOPs a core at most (None: all that the CPU has);
    ``blas_flop_per_clock`` is that limit for its library of matrix products, by vendor of the CPU.
    ``kernels_of`` names the framework that runs the kernels where this one only drives it (Keras): its
    factors hold for them. ``input_bytes_per_s`` is how fast the host hands a batch over.
    """

    framework: str
    until: int
    mode: str | None = None
    time: float = 1.0
    kinds: Mapping[str, float] = field(default_factory=dict)
    cpu_kinds: Mapping[str, float] = field(default_factory=dict)
    host_s: float = 8e-6
    launch: float = 1.0
    call_s: Mapping[str, float] = field(default_factory=dict)
    winograd: bool = True
    lowered: bool = False
    pools_memory: bool = False
    operator_s: float = 0.0
    flop_per_clock: float | None = None
    blas_flop_per_clock: Mapping[str, float] = field(default_factory=dict)
    kernels_of: str | None = None
    input_bytes_per_s: float = PINNED_COPY_BYTES_PER_S
    rows: int = 0
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Quantiles of the absolute ln(measured / predicted) for one tier, by coverage."""

    tier: str
    quantiles: Mapping[float, float]
    rows: int = 0
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Everything the cost model knows beside datasheets.

    Data parallel: ``exposure`` is the share of an exchange that stays visible, ``straggler`` how much
    longer a step takes with each doubling of the devices. With sharded weights an exchange hides behind
    ``hidden_share`` of the passes, but ``least_exposed`` of it never does.
    """

    gpu: GpuEfficiency
    cpu: CpuEfficiency
    vendors: Mapping[str, Scale] = field(default_factory=dict)
    architectures: Mapping[str, Scale] = field(default_factory=dict)
    devices: Mapping[str, Scale] = field(default_factory=dict)
    software: tuple[SoftwareFactors, ...] = ()
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    exposure: float = 0.5
    straggler: float = 0.008
    hidden_share: float = 0.72
    least_exposed: float = 0.1
