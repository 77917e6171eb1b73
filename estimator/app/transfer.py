"""What a calibration of one device says of others of its kind: how classes of kernels compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from estimator.hardware.architecture import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.hardware.efficiency import Calibration, CpuRegime, Regime, Spread

    R = TypeVar("R", Regime, CpuRegime)

# Half of what a machine's kernels differ by is taken for the software's, half for the machine's own.
_SHARE = 0.5
_WIDER = 1.3
_CPU_FIELDS = ("compute", "memory", "weights", "cycles", "overhead_s", "step_s")
_GPU_FIELDS = ("compute", "memory", "depth", "step_s")


def transfer(shipped: Calibration, made: Calibration, *, kind: DeviceKind, wider: bool) -> Calibration:
    """Return the shipped calibration with its classes of kernels moved towards those measured.

    Scales of devices and architectures stay as shipped: how fast this machine is says nothing of others.
    ``wider`` widens every range.
    """
    if kind is DeviceKind.CPU:
        regimes = _moved(shipped.cpu.regimes, made.cpu.regimes, _CPU_FIELDS)
        moved = replace(shipped, cpu=replace(shipped.cpu, regimes=regimes))
    else:
        found = _moved(shipped.gpu.regimes, made.gpu.regimes, _GPU_FIELDS)
        moved = replace(shipped, gpu=replace(shipped.gpu, regimes=found))
    return replace(moved, spreads=_widened(moved.spreads)) if wider else moved


def _moved(shipped: Mapping[str, R], made: Mapping[str, R], fields: tuple[str, ...]) -> dict[str, R]:
    return {key: _between(regime, made.get(key, regime), fields) for key, regime in shipped.items()}


def _between(shipped: R, made: R, fields: tuple[str, ...]) -> R:
    """Return the geometric mean of two regimes, weighted by the share that transfers."""
    changes = {}
    for name in fields:
        one, other = getattr(shipped, name), getattr(made, name)
        if one and other:
            changes[name] = one ** (1 - _SHARE) * other**_SHARE
    return replace(shipped, **changes)


def _widened(spreads: Mapping[str, Spread]) -> dict[str, Spread]:
    return {
        key: replace(spread, quantiles={c: _WIDER * q for c, q in spread.quantiles.items()})
        for key, spread in spreads.items()
    }
