"""How far a prediction may be off: a range that claims a coverage, by what the prediction rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration, Spread

DEFAULT_COVERAGE = 0.8


class Tier(StrEnum):
    """What a device's efficiencies rest on, from best known to least."""

    MEASURED_HERE = "measured here"
    CALIBRATED_DEVICE = "calibrated device"
    KNOWN_ARCHITECTURE = "known architecture"
    NEW_ARCHITECTURE = "new architecture"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Seconds: the expected time, and the range that holds the true one in ``coverage`` of all cases."""

    low: float
    expected: float
    high: float
    coverage: float
    basis: str = ""

    def scaled(self, factor: float) -> TimeRange:
        """Return the range of something that takes ``factor`` times as long, and is off by as much."""
        return TimeRange(
            low=self.low * factor,
            expected=self.expected * factor,
            high=self.high * factor,
            coverage=self.coverage,
            basis=self.basis,
        )


def tier_of(device: Device, calibration: Calibration, *, measured_here: bool = False) -> Tier:
    """Return what the calibration knows of a device."""
    if measured_here:
        return Tier.MEASURED_HERE
    scale = calibration.devices.get(device.id)
    if scale is not None and scale.rows > 0:
        return Tier.CALIBRATED_DEVICE
    scale = calibration.architectures.get(device.architecture.id)
    if scale is not None and scale.rows > 0:
        return Tier.KNOWN_ARCHITECTURE
    return Tier.NEW_ARCHITECTURE


def half_width(spread: Spread, coverage: float) -> float:
    """Return the half-width, in ln, of a range of the given coverage.

    Linear between the stored quantiles in the exponential's scale ``-ln(1 - coverage)`` (the residuals'
    tails are about exponential), and on from the last one.
    """
    if not 0.0 < coverage < 1.0:
        raise InputError(f"a coverage of {coverage:g} is not between 0 and 1", hint="0.8 is usual")
    points = [(0.0, 0.0)]
    points += [(-math.log1p(-c), q) for c, q in sorted(spread.quantiles.items())]
    x = -math.log1p(-coverage)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x <= x1 or (x1, y1) == points[-1]:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    raise InputError(f"the calibration holds no spread for {spread.tier!r}")


def find_spread(spreads: Mapping[str, Spread], keys: Iterable[str]) -> Spread:
    """Return the most specific spread there is; ``keys`` come most specific first."""
    wanted = list(keys)
    for key in wanted:
        if key in spreads:
            return spreads[key]
    raise InputError(f"the calibration holds no spread for {wanted[-1]!r}")


def spread_keys(tier: Tier, *, kind: str, precision: str, unusual: bool, several: bool = False) -> list[str]:
    """Give the names a spread may stand under, most specific first: ``cpu/fp32/known architecture``.

    ``several`` devices are a stratum of their own: what they wait for each other is harder to tell.
    """
    stratum = "several" if several else "unusual" if unusual else "ordinary"
    own = [f"{kind}/{precision}/{tier}/{stratum}", f"{kind}/{tier}/{stratum}", f"{tier}/{stratum}"]
    whole = [f"{kind}/{precision}/{tier}", f"{kind}/{tier}", f"{tier}"]
    if several:
        return own + whole
    return [own[0], whole[0], own[1], whole[1], own[2], whole[2]]


def time_range(expected_s: float, width: float, coverage: float, basis: str) -> TimeRange:
    """Return the range ``expected / e^width`` to ``expected x e^width``."""
    factor = math.exp(width)
    return TimeRange(
        low=expected_s / factor, expected=expected_s, high=expected_s * factor, coverage=coverage, basis=basis
    )
