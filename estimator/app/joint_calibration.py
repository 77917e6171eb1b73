"""Use case: what only runs on several devices tell of releases of frameworks; all else stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.evaluation import Prediction
from estimator.calibrate.row_span import STEP_MODES
from estimator.calibrate.solve import group_weights
from estimator.predict.factors import kernel_release
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.case_prediction import CasePredictor
    from estimator.calibrate.case import Case
    from estimator.hardware.efficiency import Calibration, SoftwareFactors

_FEWEST = 10  # rows, of two networks or more
_MOST = 150  # rows of one source: more tell little more
_HELD = {"time": 5.0, "host_s": 1.0}  # how hard to the start: what a host costs is hardly known before
_HUBER = 0.2
_BOUNDS = {"time": (0.5, 2.5), "host_s": (1e-6, 100e-6)}
_STEPS = {"time": 0.4, "host_s": 1.0}  # of the logarithm, at first
_BEGINS = (0.0, 1.0, 2.0)
_FINEST = 0.04
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joint:
    """The runs on several devices of one release."""

    release: int
    cases: tuple[Case, ...]


def with_joint_runs(calibration: Calibration, predictor: CasePredictor, cases: Sequence[Case]) -> Calibration:
    """Return the calibration with a time factor and a host's cost for releases that mostly run on several.

    What the devices exchange is predicted, not fitted. The loss is that of the fit on single devices.
    """
    alone = Counter(
        _release(calibration, case) for case in cases if case.usable and case.count == 1 and _is_step(case)
    )
    for joint in _joint_runs(calibration, cases):
        if len(joint.cases) > alone[joint.release]:
            calibration = _fitted(calibration, predictor, joint)
    return calibration


def _is_step(case: Case) -> bool:
    return case.row.mode in STEP_MODES and case.measured_s is not None


def _release(calibration: Calibration, case: Case) -> int:
    return calibration.software.index(kernel_release(calibration, case.software))


def _joint_runs(calibration: Calibration, cases: Sequence[Case]) -> list[_Joint]:
    by_release: dict[int, dict[str, list[Case]]] = {}
    for case in cases:
        if case.usable and case.count > 1 and _is_step(case) and case.message_bytes is None:
            sources = by_release.setdefault(_release(calibration, case), {})
            sources.setdefault(case.source_group, []).append(case)
    found = []
    for release, sources in sorted(by_release.items()):
        kept = [case for rows in sources.values() for case in rows[:: -(-len(rows) // _MOST)]]
        if len(kept) >= _FEWEST and len({case.network for case in kept}) > 1:
            found.append(_Joint(release=release, cases=tuple(kept)))
    return found


def _fitted(calibration: Calibration, predictor: CasePredictor, joint: _Joint) -> Calibration:
    """Search one release's two figures, one after the other, in steps that shrink.

    The search begins from the best of a few costs of the host: slow kernels and a slow host look alike.
    """
    start = calibration.software[joint.release]
    begins = [_moved(start, "host_s", step) for step in _BEGINS]
    losses = [_loss(calibration, predictor, joint, one, start) for one in begins]
    least = min(losses)
    best = begins[losses.index(least)]
    steps = dict(_STEPS)
    while max(steps.values()) >= _FINEST:
        for name, step in steps.items():
            for sign in (1.0, -1.0):
                tried = _moved(best, name, sign * step)
                loss = _loss(calibration, predictor, joint, tried, start)
                if loss < least:
                    best, least = tried, loss
                    break
            else:
                steps[name] /= 2.0
    sources = ", ".join(sorted({case.source_group for case in joint.cases}))
    basis = Provenance(f"runs on several devices: {sources}", Basis.CALIBRATED)
    return _with(calibration, joint.release, replace(best, rows=len(joint.cases), provenance=basis))


def _moved(entry: SoftwareFactors, name: str, step: float) -> SoftwareFactors:
    low, high = _BOUNDS[name]
    value = float(np.clip(getattr(entry, name) * np.exp(step), low, high))
    return replace(entry, **{name: float(f"{value:.{_DIGITS}g}")})  # type: ignore[arg-type]


def _with(calibration: Calibration, release: int, entry: SoftwareFactors) -> Calibration:
    software = list(calibration.software)
    software[release] = entry
    return replace(calibration, software=tuple(software))


def _loss(
    calibration: Calibration,
    predictor: CasePredictor,
    joint: _Joint,
    entry: SoftwareFactors,
    start: SoftwareFactors,
) -> float:
    answers = predictor.with_calibration(_with(calibration, joint.release, entry))(joint.cases)
    pairs = [
        (case, np.log(each.expected_s / each.measured_s))
        for case, each in zip(joint.cases, answers, strict=True)
        if isinstance(each, Prediction)
    ]
    if not pairs:
        return 0.0
    weights = group_weights(
        [case.source_group for case, _ in pairs],
        [(case.source_group, case.network) for case, _ in pairs],
    )
    size = np.abs([error for _, error in pairs])
    losses = np.where(size <= _HUBER, 0.5 * size**2, _HUBER * (size - 0.5 * _HUBER))
    held = sum(
        0.5 * hold * np.log(getattr(entry, name) / getattr(start, name)) ** 2 for name, hold in _HELD.items()
    )
    return float(weights @ losses + held)
