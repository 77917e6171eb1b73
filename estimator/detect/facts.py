"""The facts about one host: what a detector returns, units in the names, None for "not known"."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.provenance import Finding, Provenance


class CoreKind(StrEnum):
    """The two kinds of core a hybrid processor mixes."""

    PERFORMANCE = "performance"
    EFFICIENCY = "efficiency"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFacts:
    """One level of cache: bytes of one instance, how many instances there are, threads that share one."""

    level: int
    kind: str
    size_bytes: int
    instances: int
    threads_sharing: int | None = None
    line_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreGroup:
    """Cores of one kind. ``lanes_per_core`` is fp32 multiply-adds a clock: FMA pipes x width / 32.

    ``usable_cores`` are those that this process may use; of a quota the performance cores have the most.
    """

    kind: CoreKind
    physical_cores: int
    threads: int
    usable_cores: float | None = None
    microarchitecture: str | None = None
    microarchitecture_name: str | None = None
    simd_bits: int | None = None
    fma_pipes: int | None = None
    lanes_per_core: int | None = None
    max_clock_hz: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """The processors of a host.

    ``simd_bits`` is the width of one FMA pipe's data path (256 on Zen 4, which splits AVX-512 in two),
    ``register_bits`` the widest vector register software can use. ``fma_pipes`` counts pairs of an adder
    and a multiplier where ``has_fma`` is false: both do 2 FLOPs a lane and clock. On a hybrid processor
    these four describe the performance cores; ``groups`` has each kind. ``lanes`` is the sum over all
    online cores of pipes x width / 32. ``usable_cpus`` is in logical CPUs: the least of affinity, cpuset
    and cgroup quota; ``usable_cores`` the physical cores behind them. ``tsc_clock_hz`` is what a virtual
    machine shows for its clock: the rate of the time-stamp counter, not the rate at which cores run.
    """

    architecture: str | None = None
    model_name: str | None = None
    vendor: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    implementer: int | None = None
    part: int | None = None
    microarchitecture: str | None = None
    microarchitecture_name: str | None = None
    sockets: int | None = None
    physical_cores: int | None = None
    threads: int | None = None
    threads_per_core: int | None = None
    groups: tuple[CoreGroup, ...] = ()
    numa_nodes: int | None = None
    simd_bits: int | None = None
    register_bits: int | None = None
    fma_pipes: int | None = None
    has_fma: bool | None = None
    matrix_unit: str | None = None
    isa: tuple[str, ...] = ()
    lanes: int | None = None
    base_clock_hz: float | None = None
    max_clock_hz: float | None = None
    current_clock_hz: float | None = None
    tsc_clock_hz: float | None = None
    caches: tuple[CacheFacts, ...] = ()
    online_cpus: tuple[int, ...] = ()
    allowed_cpus: tuple[int, ...] = ()
    quota_cpus: float | None = None
    cpu_shares: int | None = None
    usable_cpus: float | None = None
    usable_cores: float | None = None
    virtualised: bool | None = None
    provenance: Mapping[str, Provenance] = field(default_factory=dict)

    @property
    def performance_cores(self) -> int | None:
        """Physical cores of the performance kind, None where the kinds are not known."""
        return self._cores(CoreKind.PERFORMANCE)

    @property
    def efficiency_cores(self) -> int | None:
        """Physical cores of the efficiency kind: 0 on a processor of one kind."""
        return self._cores(CoreKind.EFFICIENCY)

    def _cores(self, kind: CoreKind) -> int | None:
        if not self.groups:
            return None
        return sum(group.physical_cores for group in self.groups if group.kind is kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """Main memory in bytes. ``usable_bytes`` is the lesser of the total and the control group's limit."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    usable_bytes: int | None = None
    provenance: Mapping[str, Provenance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLink:
    """Direct links to another device: how many, and bytes a second of all of them in one direction.

    ``peer`` is the PCI id of the other GPU, or ``switch`` where all the GPUs meet in one.
    """

    peer: str
    links: int
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """One accelerator as its driver describes it; a board with two chips is two of these.

    ``index`` is the driver's order (PCI order), ``framework_index`` the number CUDA or HIP gives it under
    the environment's mask. ``cores`` are fp32 lanes (CUDA cores), ``units`` SMs, CUs or Xe-cores,
    ``tensor_cores`` NVIDIA's matrix units: 0 where a chip has none.
    ``target`` is the compiler's name of the architecture (``sm_86``, ``gfx942``). ``pci_id`` is
    ``vendor:device`` in hex, ``pci_address`` the slot. ``parent_index`` is set on a MIG slice.
    """

    index: int
    vendor: str
    name: str | None = None
    framework_index: int | None = None
    uuid: str | None = None
    pci_id: str | None = None
    pci_subsystem: str | None = None
    pci_address: str | None = None
    compute_capability: tuple[int, int] | None = None
    target: str | None = None
    cores: int | None = None
    units: int | None = None
    tensor_cores: int | None = None
    max_clock_hz: float | None = None
    current_clock_hz: float | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_bus_bits: int | None = None
    memory_clock_hz: float | None = None
    bandwidth_bytes_per_s: float | None = None
    l2_bytes: int | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_current_generation: int | None = None
    pcie_current_width: int | None = None
    pcie_bytes_per_s: float | None = None
    peers: tuple[PeerLink, ...] = ()
    power_limit_w: float | None = None
    power_max_w: float | None = None
    mig_enabled: bool | None = None
    mig_profile: str | None = None
    parent_index: int | None = None
    unified_memory: bool = False
    laptop: bool | None = None
    driver_version: str | None = None
    runtime_version: str | None = None
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """All that was learned about a host, and findings for what was not.

    ``gpus`` are those a framework would see here, in its order; ``hidden_gpus`` those that a variable such
    as ``CUDA_VISIBLE_DEVICES`` hides.
    """

    cpu: CpuFacts
    memory: MemoryFacts
    gpus: tuple[GpuFacts, ...] = ()
    hidden_gpus: tuple[GpuFacts, ...] = ()
    findings: tuple[Finding, ...] = ()
    system: str | None = None
