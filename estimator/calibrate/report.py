"""What each device's figures rest on, after a fit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.predict.interval import tier_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.calibrate.fit import Fit
    from estimator.calibrate.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBasis:
    """Rows, networks and sources a device was calibrated by, and how well it then fits them."""

    device: str
    architecture: str
    tier: str
    rows: int
    networks: int
    sources: tuple[str, ...]
    own_scales: bool
    median_error: float
    bias: float


def device_bases(observations: Sequence[Observation], fitted: Fit) -> tuple[DeviceBasis, ...]:
    """Return one line a device, in the order of their names; errors are fractions, bias a ln ratio."""
    rows: dict[str, list[int]] = defaultdict(list)
    for index, observation in enumerate(observations):
        rows[observation.device.id].append(index)
    result = []
    for name, indices in sorted(rows.items()):
        members = [observations[i] for i in indices]
        errors = fitted.residuals[indices]
        device = members[0].device
        result.append(
            DeviceBasis(
                device=name,
                architecture=device.architecture.id,
                tier=str(tier_of(device, fitted.calibration)),
                rows=len(members),
                networks=len({o.network for o in members}),
                sources=tuple(sorted({o.source for o in members})),
                own_scales=(fitted.calibration.devices[name].compute, fitted.calibration.devices[name].memory)
                != (1.0, 1.0),
                median_error=float(np.median(np.abs(np.expm1(-errors)))),
                bias=float(np.median(errors)),
            )
        )
    return tuple(result)
