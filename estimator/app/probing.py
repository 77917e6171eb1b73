"""What a short measurement says of this machine, in place of what its specification says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import derive_peaks
from estimator.measure.probes import probe_cpu
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.measure.probes import CpuProbe

_STREAMS = ("triad", "copy", "read")  # the one that mixes reads and writes most first


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
            peaks=derive_peaks(device.architecture, device.units, clock.value),
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


def probe_mapping(probe: CpuProbe) -> dict[str, object]:
    """Return a probe as plain data: each rate with the middle and the best of its repetitions."""
    rates = {
        **{f"{kind}_bytes_per_s_{n}_threads": m for (kind, n), m in probe.bandwidth_bytes_per_s.items()},
        **{f"{kind}_flop_per_s_{n}_threads": m for (kind, n), m in probe.matrix_flop_per_s.items()},
        "clock_hz_1_thread": probe.clock_hz,
        "clock_hz_all_threads": probe.all_threads_clock_hz,
    }
    return {
        "threads": probe.threads,
        "took_s": probe.took_s,
        "rates": {
            name: {"value": rate.value, "low": rate.low, "high": rate.high, "noisy": rate.noisy}
            for name, rate in rates.items()
            if rate is not None
        },
    }
