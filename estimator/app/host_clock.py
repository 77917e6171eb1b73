"""The clock of a detected CPU's cores when all of them are busy, and how it is known."""

from __future__ import annotations

from math import inf
from statistics import median
from typing import TYPE_CHECKING

from estimator.catalog.lookup import all_devices
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.detect.facts import CpuFacts
    from estimator.hardware.architecture import Architecture
    from estimator.hardware.device import Device

_SAME_CLOCK = 0.01
# Processors whose shares lie further apart tell nothing about another one (base clocks of laptops).
_MOST_APART = 1.25
_TURBO = frozenset({"x86", "x86_64"})
_KERNEL = Provenance("kernel", Basis.DETECTED)


def all_core_clock(cpu: CpuFacts, architecture: Architecture | None) -> tuple[float | None, Provenance]:
    """Return the clock of the cores in Hz, and how it is known.

    A kernel tells the highest clock of one core and the base clock; with all cores in wide vectors an x86
    runs between or below them (a Xeon Gold 6154 at 2.7 GHz, of 3.7). A virtual machine shows the time-stamp
    counter's rate only, which is the base clock. So it is taken from the catalogue's processors alike.
    """
    highest, base = cpu.max_clock_hz, cpu.base_clock_hz
    one_clock = highest is not None and base is not None and highest <= base
    if highest is not None and (one_clock or cpu.architecture not in _TURBO):
        return highest, _KERNEL
    if architecture is not None:
        found = None if highest else _as_same_base(architecture, base or cpu.tsc_clock_hz)
        found = found or _as_share(architecture, highest, base)
        if found is not None:
            hz, note = found
            return hz, Provenance("catalogue", Basis.ASSUMED, note)
    if base is not None:
        return base, Provenance("kernel", Basis.ASSUMED, "its base clock: that with all busy is not known")
    if highest is not None:
        return highest, Provenance("kernel", Basis.ASSUMED, "one core's highest: with all busy it is lower")
    if cpu.tsc_clock_hz is None:
        return cpu.current_clock_hz, Provenance("kernel", Basis.ASSUMED, "the clock that it shows now")
    note = "a virtual machine shows the time-stamp counter's rate, not the core's"
    return cpu.tsc_clock_hz, Provenance("kernel", Basis.ASSUMED, note)


def _as_same_base(architecture: Architecture, base_hz: float | None) -> tuple[float, str] | None:
    """Return the clock of the catalogue's server processors of an architecture and base clock."""
    if base_hz is None:
        return None
    alike = [
        device for device in all_devices()
        if device.architecture.id == architecture.id and device.form_factor == "server"
        and device.base_clock_hz and abs(device.base_clock_hz / base_hz - 1.0) < _SAME_CLOCK
        and device.clock_hz > device.base_clock_hz
    ]  # fmt: skip
    if not alike:
        return None
    names = ", ".join(device.name for device in alike)
    note = f"as {names} with all cores busy, whose base clock it has"
    return median(device.clock_hz for device in alike), note


def _as_share(
    architecture: Architecture, highest_hz: float | None, base_hz: float | None
) -> tuple[float, str] | None:
    """Return the clock as the catalogue's processors of that architecture run: a share of one of the two.

    It is the share that differs least among them: of the base clock where wide vectors set the pace (servers
    with AVX-512), of the highest clock elsewhere. None where both differ much.
    """
    alike = [
        device for device in all_devices()
        if device.architecture.id == architecture.id and device.base_clock_hz and device.max_clock_hz
        and device.provenance["clock_hz"].basis is not Basis.ASSUMED
    ]  # fmt: skip
    if not alike:
        return None
    choices = [
        (*_share(alike, of), own, name)
        for own, of, name in (
            (highest_hz, lambda device: device.max_clock_hz, "highest"),
            (base_hz, lambda device: device.base_clock_hz, "base"),
        )
        if own is not None
    ]
    apart, share, own, name = min(choices, key=lambda choice: choice[0], default=(inf, 0.0, 0.0, ""))
    if apart > _MOST_APART:
        return None
    note = f"{share:.2f} of its {name} clock, as processors of {architecture.name} run with all cores busy"
    return min(share * own, highest_hz or share * own), note


def _share(alike: list[Device], of: Callable[[Device], float | None]) -> tuple[float, float]:
    """Return how far the shares lie apart, and their middle."""
    shares = [device.clock_hz / clock for device in alike if (clock := of(device))]
    return max(shares) / min(shares), median(shares)
