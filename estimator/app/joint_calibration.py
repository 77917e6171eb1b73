"""Use case: what only runs on several devices tell of releases of frameworks; all else stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.evaluation import Prediction
from estimator.calibrate.ranges import Residual
from estimator.calibrate.row_span import STEP_MODES
from estimator.calibrate.solve import group_weights
from estimator.predict.factors import kernel_release
from estimator.predict.interval import Tier
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.app.case_prediction import CasePredictor
    from estimator.calibrate.case import Case
    from estimator.hardware.efficiency import Calibration, SoftwareFactors

_FEWEST = 10  # rows, of two networks or more
_MOST = 150  # rows of one source: more tell little more
_FEWER = 40  # the same where only residuals are wanted
_RESIDUALS = 10  # of one source, device and precision
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


@dataclass(frozen=True, kw_only=True)
class JointRuns:
    """Measured steps on several devices, and what predicts them."""

    predictor: CasePredictor
    cases: Sequence[Case]

    def finish(self, calibration: Calibration) -> Calibration:
        """Return the calibration with a time factor and a host's cost for releases mostly run on several.

        What the devices exchange is predicted, not fitted. The loss is that of the fit on single devices.
        """
        for joint in self._wanted(calibration):
            calibration = _fitted(calibration, self.predictor, joint.release, _spread_out(joint.cases, _MOST))
        return calibration

    def finish_without(
        self, calibration: Calibration, known: Calibration, is_out: Callable[[Case], bool]
    ) -> Calibration:
        """Return the same without some of the cases.

        A release that no such case belongs to keeps the figures of ``known``, a finished calibration.
        """
        for joint in self._wanted(known):
            kept = [case for case in joint.cases if not is_out(case)]
            entry = calibration.software[joint.release]
            if len(kept) == len(joint.cases):
                found = known.software[joint.release]
                entry = replace(entry, time=found.time, host_s=found.host_s)
                calibration = _with(calibration, joint.release, entry)
            elif _tells(kept):
                fewer = _spread_out(kept, _FEWER)
                calibration = _fitted(calibration, self.predictor, joint.release, fewer)
        return calibration

    def residuals(
        self, by: str, keys: frozenset[str], calibration: Calibration, known: Calibration
    ) -> list[Residual]:
        """Return the residuals of runs of the groups ``keys`` by a calibration that has not seen these.

        ``known`` is a finished calibration: see ``finish_without``.
        """
        group = self.group_of(by)
        members = [case for case in self.runs if group(case) in keys]
        if not members:
            return []
        finished = self.finish_without(calibration, known, lambda case: group(case) in keys)
        members = _few_of_each(members)
        answers = self.predictor.with_calibration(finished)(members)
        return [
            Residual(
                kind=self._hardware[id(case)]["kind"], precision=case.precision, tier=Tier(each.tier),
                unusual=False, group=group(case), several=True,
                error=float(np.log(each.measured_s / each.expected_s)),
            )
            for case, each in zip(members, answers, strict=True)
            if isinstance(each, Prediction)
        ]  # fmt: skip

    def group_of(self, by: str) -> Callable[[Case], str]:
        """Return what tells the group of a case: its device, architecture, source or framework."""
        if by in ("source", "source_id"):
            return lambda case: case.source_group
        if by == "framework":
            return lambda case: case.software.framework
        if by == "network":
            return lambda case: case.network.name
        return lambda case: self._hardware.get(id(case), {}).get(by, "")

    @cached_property
    def _hardware(self) -> dict[int, dict[str, str]]:
        """The device of each run, its architecture and its kind."""
        devices = self.predictor.devices(self.runs)
        return {
            id(case): {
                "device": device.id,
                "architecture": device.architecture.id,
                "kind": device.kind.value,
            }
            for case, device in zip(self.runs, devices, strict=True)
            if device is not None
        }

    @cached_property
    def runs(self) -> list[Case]:
        """The steps on several devices that can be used."""
        return [case for case in self.cases if case.usable and case.count > 1 and _is_step(case)]

    def _wanted(self, calibration: Calibration) -> list[_Joint]:
        """Return the runs of each release that has more of them than steps of single devices."""
        alone = Counter(
            _release(calibration, case)
            for case in self.cases
            if case.usable and case.count == 1 and _is_step(case)
        )
        by_release: dict[int, list[Case]] = {}
        for case in self.runs:
            by_release.setdefault(_release(calibration, case), []).append(case)
        return [
            _Joint(release=release, cases=tuple(members)) for release, members in sorted(by_release.items())
            if _tells(members) and len(_spread_out(members, _MOST)) > alone[release]
        ]  # fmt: skip


def _is_step(case: Case) -> bool:
    return case.row.mode in STEP_MODES and case.measured_s is not None and case.message_bytes is None


def _release(calibration: Calibration, case: Case) -> int:
    return calibration.software.index(kernel_release(calibration, case.software))


def _tells(cases: Sequence[Case]) -> bool:
    return len(cases) >= _FEWEST and len({case.network for case in cases}) > 1


def _spread_out(cases: Sequence[Case], most: int) -> list[Case]:
    """Return at most about so many cases of each source, evenly spaced."""
    sources: dict[str, list[Case]] = {}
    for case in cases:
        sources.setdefault(case.source_group, []).append(case)
    return [case for rows in sources.values() for case in rows[:: -(-len(rows) // most)]]


def _few_of_each(cases: Sequence[Case]) -> list[Case]:
    """Return at most about ten cases of each source, device and precision, evenly spaced."""
    members: dict[tuple[str, str, str], list[Case]] = {}
    for case in cases:
        members.setdefault((case.source_group, case.row.device, case.precision), []).append(case)
    return [case for rows in members.values() for case in rows[:: -(-len(rows) // _RESIDUALS)]]


def _fitted(
    calibration: Calibration, predictor: CasePredictor, release: int, cases: Sequence[Case]
) -> Calibration:
    """Search one release's two figures, one after the other, in steps that shrink.

    The search begins from the best of a few costs of the host: slow kernels and a slow host look alike.
    """
    joint = _Joint(release=release, cases=tuple(cases))
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
