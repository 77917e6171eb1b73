"""Predicts measured cases: each network is lowered once for a recipe, each row costs one kernel table."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from estimator.app.case_systems import system_of
from estimator.app.evaluation import Prediction
from estimator.app.request import on_kind
from estimator.calibrate.observation import Observation
from estimator.calibrate.row_span import STEP_MODES
from estimator.errors import EstimatorError
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing, Training
from estimator.precision import POLICIES
from estimator.predict.collectives import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, exchange_s
from estimator.predict.table import build_pair, build_table
from estimator.predict.whole import table_time
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.app.case_systems import CaseSystem
    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import AliasTables, NetworkRef
    from estimator.document import Value
    from estimator.hardware.architecture import DeviceKind
    from estimator.hardware.efficiency import Calibration
    from estimator.networks.graph import Network
    from estimator.predict.interval import TimeRange
    from estimator.predict.table import KernelTable
    from estimator.software import Software
    from estimator.workload.workload import Workload

_ALL = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD, Phase.OPTIMIZER)


class OpenNetwork(Protocol):
    """Opens a network by its name with parameters replaced; raises InputError when it cannot."""

    def __call__(self, name: str, overrides: Mapping[str, Value]) -> Network:
        """Return the network."""


class _Recipe(NamedTuple):
    """What decides the kernels of a case, its batch apart: cases with equal recipes share two lowerings."""

    network: NetworkRef
    kind: DeviceKind
    precision: str
    optimizer: str
    software: Software
    inference: bool
    recompute: bool


class _Refusal(NamedTuple):
    """Why a recipe has no kernels."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A recipe at one batch: the kernels of a pass and the optimizer, bytes exchanged, FLOPs of a sample."""

    table: KernelTable
    weight_bytes: int
    sample_flops: float
    family: str


class CasePredictor:
    """Predicts cases under one calibration; networks and kernel tables are kept between calls."""

    def __init__(self, tables: AliasTables, open_network: OpenNetwork, calibration: Calibration) -> None:
        """Remember how labels read, how networks open and what the cost model is calibrated to."""
        self._tables = tables
        self._open = open_network
        self._calibration = calibration
        self._works: dict[_Recipe, dict[int, _Work] | _Refusal] = {}

    def with_calibration(self, calibration: Calibration) -> CasePredictor:
        """Return a predictor with other coefficients that shares the networks lowered so far."""
        other = CasePredictor(self._tables, self._open, calibration)
        other._works = self._works
        return other

    def __call__(self, cases: Sequence[Case]) -> list[Prediction | str]:
        """Predict the cases, in their order; a text says why one cannot be predicted."""
        systems = [self._system(case) for case in cases]
        recipes = [
            _recipe(case, system) if not isinstance(system, str) else None
            for case, system in zip(cases, systems, strict=True)
        ]
        self._lower(cases, recipes)
        return [
            system if isinstance(system, str) else self._predict(case, system, recipe)
            for case, system, recipe in zip(cases, systems, recipes, strict=True)
        ]

    def observe(self, cases: Sequence[Case]) -> list[tuple[Observation, str]]:
        """Return the cases that calibrate, each with its network's family.

        These are usable steps of one device: epochs and totals hold their input pipeline, too.
        """
        steps = [case for case in cases if case.usable and case.count == 1 and case.row.mode in STEP_MODES]
        systems = [self._system(case) for case in steps]
        recipes = [
            _recipe(case, found) if not isinstance(found, str) else None
            for case, found in zip(steps, systems, strict=True)
        ]
        self._lower(steps, recipes)
        seen = []
        for case, found, recipe in zip(steps, systems, recipes, strict=True):
            work = self._work(case, recipe) if case.message_bytes is None else ""
            if isinstance(found, str) or isinstance(work, str):
                continue
            observation = Observation(
                table=_step_table(case, work.table),
                device=found.system.device,
                software=case.software,
                seconds=_measured_s(case, work) / case.steps,
                network=case.network.name,
                source=case.source_group,
                precision=case.precision,
            )
            seen.append((observation, work.family))
        return seen

    def _system(self, case: Case) -> CaseSystem | str:
        try:
            return system_of(case, self._tables)
        except EstimatorError as error:
            return error.message

    def _lower(self, cases: Sequence[Case], recipes: Sequence[_Recipe | None]) -> None:
        """Lower every recipe at the batches that its cases have."""
        batches: dict[_Recipe, set[int]] = defaultdict(set)
        for case, recipe in zip(cases, recipes, strict=True):
            if recipe is not None and case.micro_batch and case.message_bytes is None:
                batches[recipe].add(case.micro_batch)
        for recipe, wanted in batches.items():
            known = self._works.get(recipe, {})
            if isinstance(known, _Refusal) or wanted <= known.keys():
                continue
            try:
                self._works[recipe] = known | _works(recipe, sorted(wanted), self._open)
            except EstimatorError as error:
                self._works[recipe] = _Refusal(f"{recipe.network.name}: {error.message.splitlines()[0]}")

    def _predict(self, case: Case, found: CaseSystem, recipe: _Recipe | None) -> Prediction | str:
        try:
            if case.message_bytes is not None:
                return _exchange(case, found)
            work = self._work(case, recipe)
            return work if isinstance(work, str) else self._time(case, found, work)
        except EstimatorError as error:
            return error.message

    def _work(self, case: Case, recipe: _Recipe | None) -> _Work | str:
        if recipe is None or case.micro_batch is None or case.parallel is None:
            return "parallel layout not stated"
        if case.parallel.model_devices > 1:
            return "tensor, pipeline and context parallel layouts are not predicted"
        works = self._works[recipe]
        return works.reason if isinstance(works, _Refusal) else works[case.micro_batch]

    def _time(self, case: Case, found: CaseSystem, work: _Work) -> Prediction:
        step = self._table_time(case, found, _step_table(case, work.table), _exchanged_s(case, found, work))
        seconds = step.scaled(case.steps)
        if case.validation_samples and case.micro_batch:
            forward = self._table_time(case, found, work.table.only([Phase.FORWARD]), 0.0)
            passes = case.validation_samples / (case.micro_batch * case.count)
            seconds = _sum(seconds, forward.scaled(passes))
        return Prediction(
            low_s=seconds.low,
            expected_s=seconds.expected,
            high_s=seconds.high,
            measured_s=_measured_s(case, work),
            network=case.network.name,
            family=work.family,
            device=found.system.device.id,
            tier=seconds.basis,
            assumptions=found.assumptions,
        )

    def _table_time(self, case: Case, found: CaseSystem, table: KernelTable, exchanged_s: float) -> TimeRange:
        return table_time(
            table,
            found.system,
            software=case.software,
            policy=POLICIES.get(case.precision),
            calibration=self._calibration,
            exchanged_s=exchanged_s,
        )


def _recipe(case: Case, found: CaseSystem) -> _Recipe:
    layout = case.parallel
    return _Recipe(
        network=case.network,
        kind=found.system.device.kind,
        precision=case.precision,
        optimizer="none" if case.inference else case.optimizer,
        software=replace(case.software, framework="pytorch"),  # the framework scales times, not kernels
        inference=case.inference,
        recompute=layout is not None and layout.recompute == "full",
    )


def _works(recipe: _Recipe, batches: Sequence[int], open_network: OpenNetwork) -> dict[int, _Work]:
    """Lower a recipe at its smallest and largest batch, and read the tables between them off these."""
    network = open_network(recipe.network.name, dict(recipe.network.params))
    training = on_kind(
        Training(
            batch=batches[0],
            precision=POLICIES.get(recipe.precision),
            optimizer=OPTIMIZERS.get(recipe.optimizer),
            software=recipe.software,
            checkpointing=Checkpointing.BLOCKS if recipe.recompute else Checkpointing.NONE,
            training=not recipe.inference,
        ),
        recipe.kind,
    )
    small = lower(network, training)
    if len(batches) == 1:
        return {batches[0]: _work(network, small, build_table(small))}
    large = lower(network, replace(training, batch=batches[-1]))
    try:
        first, last = build_pair(small, large)
    except ValueError:
        whole = {batch: lower(network, replace(training, batch=batch)) for batch in batches}
        return {batch: _work(network, work, build_table(work)) for batch, work in whole.items()}
    width = batches[-1] - batches[0]
    return {
        batch: _work(network, small, first.between(last, (batch - batches[0]) / width)) for batch in batches
    }


def _work(network: Network, workload: Workload, table: KernelTable) -> _Work:
    return _Work(
        table=table,
        weight_bytes=sum(each.bytes for each in workload.collectives),
        sample_flops=(workload.forward_flops + workload.backward_flops) / workload.batch,
        family=network.family or _family(network.name),
    )


def _family(name: str) -> str:
    """Return the first word of a network's name: what names of one family share."""
    stem = name.rpartition(":")[2]
    return stem.split("_")[0].rstrip("0123456789") or stem


def _step_table(case: Case, table: KernelTable) -> KernelTable:
    """Return the kernels of a step: its phases only, passes of an accumulating step several times."""
    phases = table if case.phases == _ALL else table.only(case.phases)
    passes = case.accumulation or 1
    if passes == 1:
        return phases
    optimizer = phases.only([Phase.OPTIMIZER])
    return replace(phases, runs=passes * (phases.runs - optimizer.runs) + optimizer.runs)


def _exchanged_s(case: Case, found: CaseSystem, work: _Work) -> float:
    """Seconds of the collectives of a step: gradients, or with sharded weights these gathered twice."""
    if case.count == 1 or Phase.WGRAD not in case.phases or case.parallel is None:
        return 0.0
    if case.parallel.sharding != "fsdp":
        return exchange_s(ALL_REDUCE, work.weight_bytes, found.system)
    gathered = exchange_s(ALL_GATHER, work.weight_bytes, found.system)
    return (case.accumulation or 1) * (
        2 * gathered + exchange_s(REDUCE_SCATTER, work.weight_bytes, found.system)
    )


def _measured_s(case: Case, work: _Work) -> float:
    """Seconds measured; a rate of FLOPs is divided into the FLOPs of the step, recomputed ones if counted."""
    if case.measured.seconds is not None:
        return case.measured.seconds
    if case.measured.flop_per_s is None:
        return float("nan")
    again = 4 / 3 if case.measured.flops_with_recompute else 1.0
    return work.sample_flops * again * case.step_samples / case.measured.flop_per_s


def _exchange(case: Case, found: CaseSystem) -> Prediction:
    """Predict an all-reduce alone: the range of communication is not calibrated, a third either way."""
    expected = exchange_s(ALL_REDUCE, float(case.message_bytes or 0), found.system)
    return Prediction(
        low_s=expected / 1.35,
        expected_s=expected,
        high_s=expected * 1.35,
        measured_s=case.measured_s or float("nan"),
        network="all_reduce",
        family="all_reduce",
        device=found.system.device.id,
        tier="link",
        assumptions=found.assumptions,
    )


def _sum(first: TimeRange, second: TimeRange) -> TimeRange:
    """Add two times that are off together."""
    return replace(
        first,
        low=first.low + second.low,
        expected=first.expected + second.expected,
        high=first.high + second.high,
    )
