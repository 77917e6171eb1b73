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
# It decides whether some cores of a socket can fill its channels; it is no bandwidth of theirs.
_MOST_BYTES_PER_S_A_CORE = 25e9


def of_sockets(device: Device, sockets: int) -> Device:
    """Return a host of ``sockets`` such CPUs as one device: cores, bandwidth and caches add up."""
    if sockets == 1:
        return device
    return replace(
        _with_units(device, device.units * sockets, _slow_units(device) * sockets),
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
    threads_a_core = (device.threads or device.all_units) / device.all_units
    cores = threads / threads_a_core
    for sockets in (1, 2, 4):
        host = of_sockets(device, sockets)
        if cores <= host.all_units:
            break
    else:
        raise InputError(f"{what}: {threads} threads are more than four {device.name} have")
    if cores == host.all_units:
        return replace(host, name=f"{what} ({host.name})")
    share = cores / host.all_units
    note = f"{cores:g} of {host.all_units:g} cores, which share the memory channels with neighbours"
    provenance = dict(host.provenance)
    bandwidth = host.bandwidth_bytes_per_s
    if bandwidth is not None:
        bandwidth = max(bandwidth * share, min(bandwidth, cores * _CORE_BYTES_PER_S))
        provenance["bandwidth_bytes_per_s"] = Provenance(
            host.provenance["bandwidth_bytes_per_s"].source, Basis.ASSUMED, note
        )
    return replace(
        with_cores(host, cores),
        name=f"{what} ({threads} threads of {device.name})",
        threads=threads,
        bandwidth_bytes_per_s=bandwidth,
        memory_bytes=None,
        power_limit_w=None,
        launch_price_usd=None,
        provenance=provenance,
    )


def with_cores(device: Device, cores: float) -> Device:
    """Return the CPU with work on ``cores`` of its cores only: the whole bandwidth, part of the peak.

    Of a hybrid CPU the P cores have the work first, as schedulers place it.
    """
    if cores >= device.all_units:
        return device
    fast = min(cores, device.units)
    return _with_units(device, fast, cores - fast)


def limited_to(device: Device, cores: float, efficiency_cores: float | None = None) -> Device:
    """Return the CPU of a process that may use some of its cores.

    ``cores`` are of any kind, P cores first; of the P kind where the number of ``efficiency_cores`` is
    given too. The channels belong to the whole socket: where the cores could fill them their bandwidth is
    assumed, else it is not known (what the cores draw is then the limit).
    """
    if efficiency_cores is None:
        part = with_cores(device, cores)
    else:
        fast, slow = min(cores, device.units), min(efficiency_cores, _slow_units(device))
        part = (
            device if (fast, slow) == (device.units, _slow_units(device)) else _with_units(device, fast, slow)
        )
    return part if part is device else _sharing_channels(part, device)


def _sharing_channels(part: Device, whole: Device) -> Device:
    """Return the part with the channels' bandwidth as assumed, or as not known."""
    bandwidth = whole.bandwidth_bytes_per_s
    if bandwidth is None:
        return part
    provenance = dict(whole.provenance)
    source = provenance.pop("bandwidth_bytes_per_s").source
    if bandwidth > part.all_units * _MOST_BYTES_PER_S_A_CORE:
        return replace(part, bandwidth_bytes_per_s=None, provenance=provenance)
    note = f"all channels, for {part.all_units:g} of {whole.all_units:g} cores"
    provenance["bandwidth_bytes_per_s"] = Provenance(source, Basis.ASSUMED, note)
    return replace(part, provenance=provenance)


def _slow_units(device: Device) -> float:
    return device.efficiency_cores.units if device.efficiency_cores else 0.0


def _with_units(device: Device, units: float, efficiency_units: float = 0.0) -> Device:
    """Return the CPU with other numbers of cores; one without P cores is a CPU of its E cores."""
    slow = device.efficiency_cores
    if slow is not None and not units:
        return replace(
            device,
            architecture=slow.architecture,
            units=efficiency_units,
            clock_hz=slow.clock_hz,
            max_clock_hz=None,
            base_clock_hz=None,
            efficiency_cores=None,
            peaks=derive_peaks(slow.architecture, efficiency_units, slow.clock_hz),
        )
    group = replace(slow, units=efficiency_units) if slow is not None and efficiency_units else None
    peaks = derive_peaks(
        device.architecture, units, device.clock_hz, matrix_clock_hz=device.matrix_clock_hz,
        efficiency_cores=group,
    )  # fmt: skip
    return replace(device, units=units, efficiency_cores=group, peaks=peaks)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
