"""Predicts measured cases: the time of each row's whole span, or why it has none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.case_layout import layout_of, widened
from estimator.app.case_systems import system_of
from estimator.app.case_work import recipe_of
from estimator.app.evaluation import Prediction
from estimator.calibrate.observation import Observation
from estimator.calibrate.row_span import EPOCH_MODES, STEP_MODES
from estimator.errors import EstimatorError
from estimator.hardware.architecture import DeviceKind
from estimator.precision import POLICIES
from estimator.predict.collectives import ALL_REDUCE, exchange_s
from estimator.predict.parallel import parallel_time
from estimator.predict.replica import repeated
from estimator.predict.table import PHASES
from estimator.predict.whole import table_time
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.case_layout import Layout
    from estimator.app.case_systems import CaseSystem
    from estimator.app.case_work import Recipe, Work, Works
    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.interval import TimeRange
    from estimator.predict.table import KernelTable
    from estimator.software import Software

_ALL = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD, Phase.OPTIMIZER)
# Copies from ordinary (not pinned) memory go through a staging buffer: 2 to 4 GB/s on PCIe 3 and 4.
_PAGEABLE_BYTES_PER_S = 3e9
_RECIPES_A_PART = 600
_FITTED_MODES = frozenset(STEP_MODES) | EPOCH_MODES
_LINK_RANGE = 1.35  # an all-reduce alone, either way: links other than the fitted ones are datasheet values


class CasePredictor:
    """Predicts cases under one calibration; what was lowered is kept, and shared with other calibrations."""

    def __init__(self, tables: AliasTables, works: Works, calibration: Calibration) -> None:
        """Remember how labels read, what is lowered, and what the cost model is calibrated to."""
        self._tables = tables
        self._works = works
        self._calibration = calibration

    def with_calibration(self, calibration: Calibration) -> CasePredictor:
        """Return a predictor with other coefficients."""
        return CasePredictor(self._tables, self._works, calibration)

    def __call__(self, cases: Sequence[Case]) -> list[Prediction | str]:
        """Predict the cases, in their order; a text says why one cannot be predicted."""
        found = self._resolve(cases)
        answers: list[Prediction | str] = [each if isinstance(each, str) else "" for each in found]
        for part in _parts(found):
            self._prepare(cases, found, part)
            for index in part:
                each = found[index]
                if not isinstance(each, str):
                    answers[index] = self._predict(cases[index], *each)
        return answers

    def devices(self, cases: Sequence[Case]) -> list[Device | None]:
        """Return the device of each case, None where its label cannot be read."""
        return [None if isinstance(each, str) else each[0].system.device for each in self._resolve(cases)]

    def observe(self, cases: Sequence[Case]) -> list[tuple[Observation, str]]:
        """Return the cases that calibrate, each with its network's family.

        These are usable steps of one device. Epochs and totals hold their input pipeline, too, but an epoch
        on a CPU is nearly all computation.
        """
        steps = [case for case in cases if case.usable and case.count == 1 and case.row.mode in _FITTED_MODES]
        seen = []
        found = self._resolve(steps)
        self._prepare(steps, found, range(len(steps)))
        for case, each in zip(steps, found, strict=True):
            if isinstance(each, str) or not _is_computation(case, each[0]):
                continue
            system, recipe = each
            try:
                work = self._works.work(recipe, case.micro_batch or 1)
            except EstimatorError:
                continue
            observation = Observation(
                table=_with_validation(case, _step_table(case, work.table)),
                device=system.system.device,
                software=_software(case, work),
                seconds=_measured_s(case, work) / case.steps - _copy_s(case, system, work),
                network=case.network.name,
                source=case.source_group,
                precision=case.precision,
            )
            seen.append((observation, work.family))
        return seen

    def _resolve(self, cases: Sequence[Case]) -> list[tuple[CaseSystem, Recipe] | str]:
        """Find the system and the recipe of each case, or why it has none."""
        found: list[tuple[CaseSystem, Recipe] | str] = []
        for case in cases:
            try:
                system = system_of(case, self._tables)
            except EstimatorError as error:
                found.append(error.message)
            else:
                found.append((system, recipe_of(case, system.system.device.kind)))
        return found

    def _prepare(
        self, cases: Sequence[Case], found: Sequence[tuple[CaseSystem, Recipe] | str], part: Sequence[int]
    ) -> None:
        """Lower what some of the cases need."""
        self._works.prepare(
            (each[1], cases[index].micro_batch or 1)
            for index in part
            if not isinstance(each := found[index], str) and cases[index].message_bytes is None
        )

    def _predict(self, case: Case, system: CaseSystem, recipe: Recipe) -> Prediction | str:
        try:
            if case.message_bytes is not None:
                return _exchange(case, system)
            return self._time(case, system, recipe, self._works.work(recipe, case.micro_batch or 1))
        except EstimatorError as error:
            return error.message.splitlines()[0]

    def _time(self, case: Case, system: CaseSystem, recipe: Recipe, work: Work) -> Prediction:
        layout = layout_of(case, work.parameters, system.system.device, frozen=work.frozen)
        if widened(layout.parallel) or case.micro_batch is None:
            step = self._parallel_time(case, system, layout, recipe)
        else:
            step = self._table_time(
                case,
                system,
                work,
                _step_table(case, work.table, layout.accumulation(case.step_samples)),
                _exchanged_s(case, system, work),
            )
        seconds = _later(step, _copy_s(case, system, work)).scaled(case.steps)
        if case.validation_samples and case.micro_batch:
            forward = self._table_time(case, system, work, work.table.only([Phase.FORWARD]), 0.0)
            seconds = _sum(seconds, forward.scaled(case.validation_samples / (case.micro_batch * case.count)))
        return Prediction(
            low_s=seconds.low,
            expected_s=seconds.expected,
            high_s=seconds.high,
            measured_s=_measured_s(case, work),
            network=case.network.name,
            family=work.family,
            device=system.system.device.id,
            architecture=system.system.device.architecture.id,
            tier=seconds.basis,
            ideal_s=_ideal_s(case, system, work),
            assumptions=(*system.assumptions, *layout.assumptions),
        )

    def _parallel_time(self, case: Case, system: CaseSystem, layout: Layout, recipe: Recipe) -> TimeRange:
        work = self._works.work(recipe, layout.micro_batch)
        return parallel_time(
            work.replica,
            layout.accumulation(case.step_samples),
            system.system,
            layout.parallel,
            software=_software(case, work),
            policy=POLICIES.get(case.precision),
            calibration=self._calibration,
        )

    def _table_time(
        self, case: Case, system: CaseSystem, work: Work, table: KernelTable, exchanged_s: float
    ) -> TimeRange:
        return table_time(
            table,
            system.system,
            software=_software(case, work),
            policy=POLICIES.get(case.precision),
            calibration=self._calibration,
            exchanged_s=exchanged_s,
        )


def _software(case: Case, work: Work) -> Software:
    """Return a case's software, with the layout that its compiler chose."""
    return replace(case.software, layout=work.layout)


def _parts(found: Sequence[tuple[CaseSystem, Recipe] | str]) -> list[list[int]]:
    """Put cases of one recipe together, and so many recipes in a part that their kernels fit in memory."""
    members: dict[Recipe, list[int]] = {}
    for index, each in enumerate(found):
        if not isinstance(each, str):
            members.setdefault(each[1], []).append(index)
    groups = list(members.values())
    return [
        [index for group in groups[start : start + _RECIPES_A_PART] for index in group]
        for start in range(0, len(groups), _RECIPES_A_PART)
    ]


def _step_table(case: Case, table: KernelTable, passes: int | None = None) -> KernelTable:
    """Return the kernels of a step: its phases only, its passes as often as it makes them.

    ``passes`` are those of a guessed layout, by default those that the case states.
    """
    phases = table if case.phases == _ALL else table.only(case.phases)
    if case.keeps_input or case.copies_input:  # what is copied within the timed region is added to it
        phases = replace(phases, input_bytes=0.0)
    return repeated(phases, passes or case.accumulation or 1)


def _is_computation(case: Case, system: CaseSystem) -> bool:
    """Tell whether a measured time is that of kernels alone."""
    return case.row.mode in STEP_MODES or system.system.device.kind is DeviceKind.CPU


def _with_validation(case: Case, table: KernelTable) -> KernelTable:
    """Return the kernels of a step with its share of the forward passes that validate an epoch."""
    if not case.validation_samples:
        return table
    share = case.validation_samples / (case.steps * case.step_samples)
    more = np.where(table.phase == PHASES.index(Phase.FORWARD), 1.0 + share, 1.0)
    return replace(table, runs=table.runs * more, calls=table.calls * more[table.kernel])


def _exchanged_s(case: Case, system: CaseSystem, work: Work) -> float:
    """Seconds the gradients of a step take to exchange."""
    if case.count == 1 or Phase.WGRAD not in case.phases:
        return 0.0
    return exchange_s(ALL_REDUCE, work.gradient_bytes, system.system)


def _copy_s(case: Case, system: CaseSystem, work: Work) -> float:
    """Seconds a step copies its batch to a GPU, where the row says that its time holds the copy."""
    if not case.copies_input or system.system.device.kind is DeviceKind.CPU:
        return 0.0
    return work.input_bytes * case.step_samples / case.count / _PAGEABLE_BYTES_PER_S


def _later(time: TimeRange, seconds: float) -> TimeRange:
    """Put a wait of known length before a time."""
    return replace(time, low=time.low + seconds, expected=time.expected + seconds, high=time.high + seconds)


def _measured_s(case: Case, work: Work) -> float:
    """Seconds measured; a rate of FLOPs is divided into the FLOPs of the step, recomputed ones if counted."""
    if case.measured.seconds is not None:
        return case.measured.seconds
    if case.measured.flop_per_s is None:
        return float("nan")
    again = 4 / 3 if case.measured.flops_with_recompute else 1.0
    return work.sample_flops * again * case.step_samples / case.measured.flop_per_s


def _ideal_s(case: Case, system: CaseSystem, work: Work) -> float | None:
    """Seconds the FLOPs of the span take at peak rate; None where the device has no peak for the format."""
    peak = system.system.device.peaks.best(POLICIES.get(case.precision).product)
    if peak is None or Phase.FORWARD not in case.phases:
        return None
    flops = work.sample_flops if Phase.WGRAD in case.phases else work.forward_flops
    return flops * case.step_samples * case.steps / (peak * case.count)


def _exchange(case: Case, system: CaseSystem) -> Prediction:
    """Predict an all-reduce alone."""
    expected = exchange_s(ALL_REDUCE, float(case.message_bytes or 0), system.system)
    return Prediction(
        low_s=expected / _LINK_RANGE,
        expected_s=expected,
        high_s=expected * _LINK_RANGE,
        measured_s=case.measured_s or float("nan"),
        network="all_reduce",
        family="all_reduce",
        device=system.system.device.id,
        tier="link",
        assumptions=system.assumptions,
    )


def _sum(first: TimeRange, second: TimeRange) -> TimeRange:
    """Add two times that are off together."""
    return replace(
        first,
        low=first.low + second.low,
        expected=first.expected + second.expected,
        high=first.high + second.high,
    )
