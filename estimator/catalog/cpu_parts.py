"""More or less than one CPU: several sockets of a host, or some cores of one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.errors import InputError
from estimator.hardware.device import derive_peaks
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from estimator.hardware.device import Device

# What one core of a server draws when its neighbours are quiet: a slice gets at least this a core, up to
# what its sockets have.
_CORE_BYTES_PER_S = 10e9
# The most that one core draws alone: 25 to 27 GB/s were measured on a Zen 4, and 46 GB/s by two of its cores.
_MOST_BYTES_PER_S_A_CORE = 25e9


def of_sockets(device: Device, sockets: int) -> Device:
    """Return a host of ``sockets`` such CPUs as one device: cores, bandwidth and caches add up."""
    if sockets == 1:
        return device
    return replace(
        _with_units(device, device.units * sockets),
        name=f"{sockets} x {device.name}",
        sockets=device.sockets * sockets,
        threads=None if device.threads is None else device.threads * sockets,
        bandwidth_bytes_per_s=_times(device.bandwidth_bytes_per_s, sockets),
        power_limit_w=_times(device.power_limit_w, sockets),
        launch_price_usd=_times(device.launch_price_usd, sockets),
        cache_bytes={
            level: size * (sockets if level == "l3" else 1) for level, size in device.cache_bytes.items()
        },
    )


def slice_of(device: Device, *, threads: int, what: str) -> Device:
    """Return ``threads`` hardware threads of a CPU, of two sockets where one does not hold them.

    Bandwidth is the cores' share of the sockets, or what so many cores can draw; basis assumed, for
    neighbours share the channels. Raises InputError when four sockets would not hold them.
    """
    threads_a_core = (device.threads or device.units) / device.units
    cores = threads / threads_a_core
    for sockets in (1, 2, 4):
        host = of_sockets(device, sockets)
        if cores <= host.units:
            break
    else:
        raise InputError(f"{what}: {threads} threads are more than four {device.name} have")
    if cores == host.units:
        return replace(host, name=f"{what} ({host.name})")
    share = cores / host.units
    note = f"{cores:g} of {host.units:g} cores, which share the memory channels with neighbours"
    provenance = dict(host.provenance)
    bandwidth = host.bandwidth_bytes_per_s
    if bandwidth is not None:
        bandwidth = max(bandwidth * share, min(bandwidth, cores * _CORE_BYTES_PER_S))
        provenance["bandwidth_bytes_per_s"] = Provenance(
            host.provenance["bandwidth_bytes_per_s"].source, Basis.ASSUMED, note
        )
    return replace(
        _with_units(host, cores),
        name=f"{what} ({threads} threads of {device.name})",
        threads=threads,
        bandwidth_bytes_per_s=bandwidth,
        memory_bytes=None,
        power_limit_w=None,
        launch_price_usd=None,
        provenance=provenance,
    )


def with_cores(device: Device, cores: float) -> Device:
    """Return the CPU with work on ``cores`` of its cores only: the whole bandwidth, part of the peak."""
    if cores >= device.units:
        return device
    return _with_units(device, cores)


def limited_to(device: Device, cores: float) -> Device:
    """Return the CPU of a process that may use ``cores`` of its cores: at most the bandwidth they draw."""
    part = with_cores(device, cores)
    bandwidth, most = part.bandwidth_bytes_per_s, cores * _MOST_BYTES_PER_S_A_CORE
    if part is device or bandwidth is None or bandwidth <= most:
        return part
    note = f"{cores:g} of {device.units:g} cores, which cannot draw all that the channels have"
    source = device.provenance["bandwidth_bytes_per_s"].source
    provenance = {**device.provenance, "bandwidth_bytes_per_s": Provenance(source, Basis.ASSUMED, note)}
    return replace(part, bandwidth_bytes_per_s=most, provenance=provenance)


def _with_units(device: Device, units: float) -> Device:
    peaks = derive_peaks(device.architecture, units, device.clock_hz, matrix_clock_hz=device.matrix_clock_hz)
    return replace(device, units=units, efficiency_cores=None, peaks=peaks)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
