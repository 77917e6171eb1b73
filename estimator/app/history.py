"""How far predictions of the kinds at hand were from measurements, read off the calibration's spreads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from estimator.predict.interval import find_spread, half_width, spread_keys, tier_of
from estimator.results.report import AccuracyHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.app.study import Study
    from estimator.hardware.efficiency import Calibration, Spread

_SAME_WIDTH = 1e-6


def accuracy_history(studies: Iterable[Study], calibration: Calibration) -> tuple[AccuracyHistory, ...]:
    """Return the record behind each range of the studies, once each, with the devices it stands for."""
    devices: dict[str, dict[str, None]] = {}
    found: dict[str, tuple[Spread, str]] = {}
    for study in studies:
        for index, prediction in enumerate(study.predictions):
            key, spread = _spread_of(study, index, calibration)
            found[key] = (spread, prediction.step.time_s.basis)
            devices.setdefault(key, {})[prediction.device.name] = None
    return tuple(
        AccuracyHistory(
            devices=tuple(devices[key]),
            basis=basis,
            group=key,
            within={f"{share:g}": math.exp(width) for share, width in sorted(spread.quantiles.items())},
            rows=spread.rows or None,
            source=spread.provenance.source if spread.provenance else "",
        )
        for key, (spread, basis) in found.items()
    )


def _spread_of(study: Study, index: int, calibration: Calibration) -> tuple[str, Spread]:
    """Return the spread that a prediction's range was made of, and its name.

    Whether the network's kernels are of an unusual kind shows in the width only: both are tried.
    """
    device, time = study.systems[index].device, study.predictions[index].step.time_s
    width = math.log(time.high / time.expected)
    tier = tier_of(device, calibration)
    candidates = []
    for unusual in (False, True):
        keys = spread_keys(
            tier, kind=device.kind.value, precision=study.training.precision.name, unusual=unusual
        )
        spread = find_spread(calibration.spreads, keys)
        name = next(key for key in keys if key in calibration.spreads)
        candidates.append((name, spread))
    return next(
        (c for c in candidates if abs(half_width(c[1], time.coverage) - width) < _SAME_WIDTH), candidates[-1]
    )
