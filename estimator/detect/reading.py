"""What an operating system says about its processors, before anything is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.detect.facts import CacheFacts, CoreKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreReading:
    """Cores of one kind as read: ``part`` is (implementer, part) on Arm; kind None where nothing says.

    ``allowed_cores`` are those with a CPU that this process may use, None where nothing tells.
    """

    kind: CoreKind | None
    physical_cores: int
    threads: int
    part: tuple[int, int] | None = None
    allowed_cores: int | None = None
    max_clock_hz: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuReading:
    """The processors as one operating system shows them; same meanings as in `CpuFacts`.

    ``flags`` are lower-case names of instruction sets in Linux's spelling, empty where nothing lists them;
    ``design`` names a core in words where there are no numbers (POWER9, Apple M2).
    """

    architecture: str | None = None
    model_name: str | None = None
    vendor: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    design: str | None = None
    flags: frozenset[str] = frozenset()
    sve_bits: int | None = None
    sockets: int | None = None
    cores: tuple[CoreReading, ...] = ()
    physical_cores: int | None = None
    threads: int | None = None
    numa_nodes: int | None = None
    caches: tuple[CacheFacts, ...] = ()
    base_clock_hz: float | None = None
    max_clock_hz: float | None = None
    current_clock_hz: float | None = None
    tsc_clock_hz: float | None = None
    online_cpus: frozenset[int] = frozenset()
    allowed_cpus: frozenset[int] = frozenset()
    allowed_cores: int | None = None
    allowed_count: int | None = None
    quota_cpus: float | None = None
    cpu_shares: int | None = None
    virtualised: bool | None = None
    sources: tuple[str, ...] = field(default=())
