"""Use case: what only runs on several devices tell of releases and of architectures; all else stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

import numpy as np

from estimator.app.evaluation import Prediction
from estimator.calibrate.ranges import Residual
from estimator.calibrate.row_span import STEP_MODES
from estimator.calibrate.solve import group_weights
from estimator.hardware.efficiency import Scale
from estimator.predict.factors import kernel_release
from estimator.predict.interval import Tier
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.app.case_prediction import CasePredictor
    from estimator.calibrate.case import Case
    from estimator.hardware.efficiency import Calibration, SoftwareFactors

    Entry: TypeAlias = SoftwareFactors | Scale

_FEWEST = 10  # rows, of two networks or more
_MOST = 150  # rows of one source: more tell little more
_FEWER = 40  # the same where only residuals are wanted
_RESIDUALS = 10  # of one source, device and precision
_MOSTLY = 3.0  # so many times the steps on single devices, for runs on several to tell of an architecture
_HELD = {  # how hard to the start: what a host costs is hardly known before
    "time": 5.0, "host_s": 1.0, "matrix": 2.0, "memory": 5.0,
}  # fmt: skip
_HUBER = 0.2
_BOUNDS = {"time": (0.5, 2.5), "host_s": (1e-6, 100e-6), "matrix": (0.5, 2.0), "memory": (0.6, 1.5)}
_STEPS = {"time": 0.4, "host_s": 1.0, "matrix": 0.4, "memory": 0.2}  # of the logarithm, at first
_BEGINS = (0.0, 1.0, 2.0)
_FINEST = 0.04
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class _Release:
    """The entry of a framework's release, by its place in the table."""

    place: int

    names: ClassVar = ("time", "host_s")

    def of(self, calibration: Calibration) -> SoftwareFactors:
        return calibration.software[self.place]

    def put(self, calibration: Calibration, entry: Entry) -> Calibration:
        software = list(calibration.software)
        software[self.place] = cast("SoftwareFactors", entry)
        return replace(calibration, software=tuple(software))


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The scale of an architecture."""

    key: str

    names: ClassVar = ("matrix", "memory")

    def of(self, calibration: Calibration) -> Scale:
        return calibration.architectures.get(self.key, Scale())

    def put(self, calibration: Calibration, entry: Entry) -> Calibration:
        return replace(
            calibration, architectures={**calibration.architectures, self.key: cast("Scale", entry)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joint:
    """The runs on several devices of one release or architecture."""

    target: _Release | _Architecture
    cases: tuple[Case, ...]


@dataclass(frozen=True, kw_only=True)
class JointRuns:
    """Measured steps on several devices, and what predicts them."""

    predictor: CasePredictor
    cases: Sequence[Case]

    def finish(self, calibration: Calibration) -> Calibration:
        """Return the calibration with figures of releases and architectures that mostly ran on several.

        Of a release it is a time factor and a host's cost, of an architecture the speed of its matrix units
        and of its memory. What the devices exchange is predicted, not fitted. The loss is that of the fit on
        single devices.
        """
        for joint in self._wanted(calibration):
            calibration = _fitted(calibration, self.predictor, joint.target, _spread_out(joint.cases, _MOST))
        return calibration

    def finish_without(
        self, calibration: Calibration, known: Calibration, is_out: Callable[[Case], bool]
    ) -> Calibration:
        """Return the same without some of the cases.

        What no such case belongs to keeps the figures of ``known``, a finished calibration.
        """
        for joint in self._wanted(known):
            kept = [case for case in joint.cases if not is_out(case)]
            target = joint.target
            if len(kept) == len(joint.cases):
                found = target.of(known)
                same = {name: getattr(found, name) for name in target.names}
                calibration = target.put(calibration, replace(target.of(calibration), **same))
            elif _tells(kept):
                calibration = _fitted(calibration, self.predictor, target, _spread_out(kept, _FEWER))
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
        devices = self.predictor.devices(self.whole)
        return {
            id(case): {
                "device": device.id,
                "architecture": device.architecture.id,
                "kind": device.kind.value,
            }
            for case, device in zip(self.whole, devices, strict=True)
            if device is not None
        }

    @cached_property
    def whole(self) -> list[Case]:
        """The trainings on several devices that can be used: steps, rates and runs to their end."""
        return [c for c in self.cases if c.usable and c.count > 1 and c.message_bytes is None]

    @cached_property
    def runs(self) -> list[Case]:
        """The steps among them."""
        return [case for case in self.whole if _is_step(case)]

    @cached_property
    def _alone(self) -> list[Case]:
        """The steps on single devices."""
        return [case for case in self.cases if case.usable and case.count == 1 and _is_step(case)]

    @cached_property
    def _architectures(self) -> list[_Joint]:
        """The runs of architectures of which single devices tell next to nothing.

        Runs to their end count, too: of some accelerators little else is published.
        """
        groups: dict[str, list[Case]] = {}
        for case in self.whole:
            if hardware := self._hardware.get(id(case)):
                groups.setdefault(hardware["architecture"], []).append(case)
        alone = Counter(d.architecture.id for d in self.predictor.devices(self._alone) if d)
        return [
            _Joint(target=_Architecture(key), cases=tuple(members))
            for key, members in sorted(groups.items())
            if _outnumber(members, _MOSTLY * alone[key])
        ]

    def _wanted(self, calibration: Calibration) -> list[_Joint]:
        """Return the runs of what has more of them than steps of single devices, architectures first."""
        alone = Counter(_release(calibration, case) for case in self._alone)
        groups: dict[int, list[Case]] = {}
        for case in self.runs:
            groups.setdefault(_release(calibration, case), []).append(case)
        return self._architectures + [
            _Joint(target=_Release(place), cases=tuple(members))
            for place, members in sorted(groups.items())
            if _outnumber(members, alone[place])
        ]


def _is_step(case: Case) -> bool:
    return case.row.mode in STEP_MODES and case.measured_s is not None and case.message_bytes is None


def _release(calibration: Calibration, case: Case) -> int:
    return calibration.software.index(kernel_release(calibration, case.software))


def _tells(cases: Sequence[Case]) -> bool:
    return len(cases) >= _FEWEST and len({case.network for case in cases}) > 1


def _outnumber(cases: Sequence[Case], alone: float) -> bool:
    """Tell whether runs on several devices tell enough, and more than so many steps of single ones."""
    return _tells(cases) and len(_spread_out(cases, _MOST)) > alone


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
    calibration: Calibration,
    predictor: CasePredictor,
    target: _Release | _Architecture,
    cases: Sequence[Case],
) -> Calibration:
    """Search the two figures of a target, one after the other, in steps that shrink.

    For a release the search begins from the best of a few costs of the host: slow kernels and a slow host
    look alike.
    """
    start = target.of(calibration)
    loss = partial(_loss, calibration, predictor, target, cases)
    begins = [_moved(start, "host_s", step) for step in _BEGINS] if "host_s" in target.names else [start]
    losses = [loss(one) for one in begins]
    least = min(losses)
    best = begins[losses.index(least)]
    steps = {name: _STEPS[name] for name in target.names}
    while max(steps.values()) >= _FINEST:
        for name, step in steps.items():
            for sign in (1.0, -1.0):
                tried = _moved(best, name, sign * step)
                if (found := loss(tried)) < least:
                    best, least = tried, found
                    break
            else:
                steps[name] /= 2.0
    sources = ", ".join(sorted({case.source_group for case in cases}))
    basis = Provenance(f"runs on several devices: {sources}", Basis.CALIBRATED)
    return target.put(calibration, replace(best, rows=len(cases), provenance=basis))


def _moved(entry: Entry, name: str, step: float) -> Entry:
    low, high = _BOUNDS[name]
    value = float(np.clip(getattr(entry, name) * np.exp(step), low, high))
    return replace(entry, **{name: float(f"{value:.{_DIGITS}g}")})  # type: ignore[arg-type]


def _loss(
    calibration: Calibration,
    predictor: CasePredictor,
    target: _Release | _Architecture,
    cases: Sequence[Case],
    entry: Entry,
) -> float:
    answers = predictor.with_calibration(target.put(calibration, entry))(cases)
    pairs = [
        (case, np.log(each.expected_s / each.measured_s))
        for case, each in zip(cases, answers, strict=True)
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
    start = target.of(calibration)
    held = sum(
        0.5 * _HELD[name] * np.log(getattr(entry, name) / getattr(start, name)) ** 2 for name in target.names
    )
    return float(weights @ losses + held)
