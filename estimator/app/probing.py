"""What a short measurement says of this machine, in place of what its specification says."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import derive_peaks
from estimator.measure.probe_gpu import probe_launch
from estimator.measure.probes import probe_cpu
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.measure.probes import CpuProbe, Measured
    from estimator.provenance import Finding

LAUNCH = "launch_s"
_STREAMS = ("triad", "copy", "read")  # the one that mixes reads and writes most first
_LAUNCHING_VENDORS = frozenset({"nvidia", "amd"})  # those whose GPUs PyTorch reaches as "cuda"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProbe:
    """What was measured of a host: its CPUs, and the seconds a kernel launch costs it (None: not known)."""

    cpu: CpuProbe
    launch: Measured | None = None
    took_s: float = 0.0
    findings: tuple[Finding, ...] = ()

    def launch_of(self, device: Device) -> Measured | None:
        """Return the launch cost of a device: the host's side of it, so one for all GPUs it launches on."""
        launches = device.kind is DeviceKind.GPU and device.vendor.lower() in _LAUNCHING_VENDORS
        return self.launch if launches else None


def probe_machine(facts: HostFacts, *, torch: Any = None) -> HostProbe:  # noqa: ANN401 - a module or a stand-in
    """Measure the CPUs, and where there is a GPU that PyTorch may reach what a launch on it costs.

    PyTorch takes seconds to import: it is not touched where no such GPU was found.
    """
    start = time.perf_counter()
    cpu = probe_host(facts)
    launch, findings = None, cpu.findings
    if any(gpu.vendor.lower() in _LAUNCHING_VENDORS for gpu in facts.gpus):
        launch, absent = probe_launch(torch=torch)
        findings = (*findings, *absent)
    return HostProbe(cpu=cpu, launch=launch, took_s=time.perf_counter() - start, findings=findings)


def probe_host(facts: HostFacts) -> CpuProbe:
    """Measure this machine's clock, matrix rate and bandwidth: under two seconds."""
    caches = [cache.size_bytes for cache in facts.cpu.caches]
    return probe_cpu(last_cache_bytes=max(caches, default=None), memory_bytes=facts.memory.usable_bytes)


def with_probe(device: Device, probe: CpuProbe) -> Device:
    """Return the CPU at the clock and bandwidth that were measured, basis "measured here"."""
    if device.kind is not DeviceKind.CPU:
        return device
    provenance = dict(device.provenance)
    clock = probe.all_threads_clock_hz or probe.clock_hz
    if clock is not None:
        provenance["clock_hz"] = _measured("dependent chain of additions", clock.noisy)
        device = replace(
            device,
            clock_hz=clock.value,
            peaks=derive_peaks(
                device.architecture, device.units, clock.value, efficiency_cores=device.efficiency_cores
            ),
        )
    streams = [
        rate
        for kind in _STREAMS
        if (rate := probe.bandwidth_bytes_per_s.get((kind, probe.threads))) is not None
    ]
    if streams:
        provenance["bandwidth_bytes_per_s"] = _measured("stream on all threads", streams[0].noisy)
        device = replace(device, bandwidth_bytes_per_s=streams[0].value)
    return replace(device, provenance=provenance)


def _measured(how: str, noisy: bool) -> Provenance:  # noqa: FBT001 - a mark on the note
    note = "other work ran here meanwhile: the truth may be higher" if noisy else ""
    return Provenance(how, Basis.MEASURED_HERE, note)


def launch_provenance(launch: Measured) -> Provenance:
    """Return where a measured launch cost comes from."""
    return _measured("eager launches of a short kernel through PyTorch, back to back", launch.noisy)


def probe_mapping(probe: HostProbe) -> dict[str, object]:
    """Return a probe as plain data: each rate with the middle and the best of its repetitions.

    The launch cost is a time: its best is ``low`` and its middle ``high``.
    """
    cpu = probe.cpu
    rates = {
        **{f"{kind}_bytes_per_s_{n}_threads": m for (kind, n), m in cpu.bandwidth_bytes_per_s.items()},
        **{f"{kind}_flop_per_s_{n}_threads": m for (kind, n), m in cpu.matrix_flop_per_s.items()},
        "clock_hz_1_thread": cpu.clock_hz,
        "clock_hz_all_threads": cpu.all_threads_clock_hz,
        LAUNCH: probe.launch,
    }
    return {
        "threads": cpu.threads,
        "took_s": probe.took_s,
        "rates": {
            name: {"value": rate.value, "low": rate.low, "high": rate.high, "noisy": rate.noisy}
            for name, rate in rates.items()
            if rate is not None
        },
    }
