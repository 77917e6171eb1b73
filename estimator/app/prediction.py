"""The use cases of ``estimator predict`` and ``compare``: one network on one or many systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.app.fit import memory_summary
from estimator.app.here import Grounds
from estimator.app.request import assumptions_of, run_on
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.predict.run import Schedule, estimate_run
from estimator.predict.step import estimate_step
from estimator.predict.sweep import Sweep, lacking
from estimator.predict.table import build_table
from estimator.results.prediction import (
    BoundSummary,
    DeviceSummary,
    LayerSummary,
    PhaseSummary,
    Prediction,
    PredictionResult,
    StepSummary,
    TimeSummary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.hardware.architecture import DeviceKind
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.predict.estimate import StepEstimate
    from estimator.predict.gpu import KernelTimes
    from estimator.predict.interval import TimeRange
    from estimator.predict.run import RunEstimate
    from estimator.predict.table import KernelTable
    from estimator.provenance import Assumption
    from estimator.workload.workload import Footprint, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredRun:
    """A network lowered for one kind of device: its work, and its footprint at twice the batch."""

    training: Training
    workload: Workload
    table: KernelTable
    doubled: Footprint


def lowered(network: Network, training: Training, kind: DeviceKind) -> LoweredRun:
    """Return the work of one step as a framework runs it on ``kind``."""
    recipe = run_on(network, training, kind)
    twice = replace(recipe, batch=2 * recipe.batch)
    workload = lower(network, recipe)
    return LoweredRun(
        training=recipe,
        workload=workload,
        table=build_table(workload),
        doubled=lower(network, twice).footprint,
    )


def predict_named(
    network: Network,
    request: Request,
    training: Training,
    systems: Sequence[NamedSystem],
    calibration: Calibration,
    *,
    ground: Callable[[Device], Grounds] | None = None,
) -> tuple[tuple[Prediction, ...], tuple[str, ...]]:
    """Return the predictions in the order given, and why systems that have none were refused.

    Each kind of device is lowered once. ``ground`` tells what the prediction for a device rests on, where
    that is not the same calibration for all.
    """
    runs = {
        kind: lowered(network, training, kind)
        for kind in dict.fromkeys(named.system.device.kind for named in systems)
    }
    said = assumptions_of(request, training)
    grounded = [
        ground(named.system.device)
        if ground
        else Grounds(device=named.system.device, calibration=calibration)
        for named in systems
    ]
    predictions, refused = [], []
    for named, grounds, times in zip(systems, grounded, _times_of(runs, grounded), strict=True):
        assumed = (*said, *named.assumptions, *grounds.assumptions)
        system = replace(named.system, device=grounds.device)
        try:
            run = runs[system.device.kind]
            predictions.append(_predict(run, system, grounds, request.coverage, assumed, times=times))
        except InputError as error:
            refused.append(str(error))
    return tuple(predictions), tuple(refused)


def _times_of(runs: Mapping[DeviceKind, LoweredRun], grounded: Sequence[Grounds]) -> list[KernelTimes | None]:
    """Return the kernels' times on each device, of all that share a calibration at once.

    None stands for a device on which the network cannot be told, or that is alone: the step says why.
    """
    found: list[KernelTimes | None] = [None] * len(grounded)
    for kind, run in runs.items():
        groups: dict[int, list[int]] = {}
        for place, grounds in enumerate(grounded):
            if grounds.device.kind is kind and not lacking(grounds.device, run.table.categories):
                groups.setdefault(id(grounds.calibration), []).append(place)
        for places in groups.values():
            if len(places) == 1:
                continue
            devices = tuple(grounded[place].device for place in places)
            sweep = Sweep(devices, run.training.software, grounded[places[0]].calibration)
            for place, times in zip(places, sweep.kernel_times(run.table), strict=True):
                found[place] = times
    return found


def prediction_result(
    request: Request,
    predictions: tuple[Prediction, ...],
    warnings: Sequence[str],
    inputs: Mapping[str, object],
) -> PredictionResult:
    """Return the result of ``predict``."""
    return PredictionResult(
        inputs={**request.inputs(), **inputs}, predictions=predictions, warnings=tuple(warnings)
    )


def _predict(
    run: LoweredRun,
    system: System,
    grounds: Grounds,
    coverage: float,
    said: Sequence[Assumption],
    *,
    times: KernelTimes | None,
) -> Prediction:
    training, device = run.training, system.device
    step = estimate_step(
        run.workload,
        system,
        software=training.software,
        policy=training.precision,
        calibration=grounds.calibration,
        coverage=coverage,
        measured_here=grounds.measured_here,
        input_samples_per_s=training.images_per_s,
        table=run.table,
        times=times,
    )
    length = _run_length(step, training)
    peak = device.peaks.best(training.precision.product)
    return Prediction(
        device=DeviceSummary(
            name=device.name,
            id=device.id,
            kind=device.kind.value,
            devices=system.count,
            detected=device.detected,
            lanes=device.lanes,
            peak_flop_per_s=peak,
            bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
            power_limit_w=device.power_limit_w,
        ),
        step=_step_summary(step),
        steps=length.steps if length else None,
        epoch_s=length.epoch.expected if length and length.epoch else None,
        epoch_range_s=_time(length.epoch) if length and length.epoch else None,
        total_s=length.total.expected if length and _has_end(training) else None,
        total_range_s=_time(length.total) if length and _has_end(training) else None,
        memory=memory_summary(
            run.workload.footprint, run.doubled, device, training.batch, training.software.era
        ),
        layers=tuple(
            LayerSummary(path=t.path, forward_s=t.forward_s, backward_s=t.backward_s, bound=t.bound.value)
            for t in step.layers
        ),
        assumptions=(*said, *step.assumptions),
    )


def _has_end(training: Training) -> bool:
    return training.steps is not None or training.epochs is not None


def _run_length(step: StepEstimate, training: Training) -> RunEstimate | None:
    """Return epoch and total, or None where neither steps nor samples are known."""
    if training.steps is None and training.samples is None:
        return None
    validation = round(training.validation_share * (training.samples or 0))
    return estimate_run(
        step,
        Schedule(
            samples=training.samples,
            epochs=training.epochs or 1.0,
            steps=training.steps,
            validation_samples=validation,
        ),
    )


def _time(time: TimeRange) -> TimeSummary:
    return TimeSummary(
        expected=time.expected, low=time.low, high=time.high, coverage=time.coverage, basis=time.basis
    )


def _step_summary(step: StepEstimate) -> StepSummary:
    phases, bounds = step.phases, step.bounds
    return StepSummary(
        time_s=_time(step.time),
        samples_per_s=step.samples_per_s,
        mfu=step.mfu,
        phases=PhaseSummary(
            forward_s=phases.forward_s,
            backward_s=phases.backward_s,
            optimizer_s=phases.optimizer_s,
            communication_s=phases.communication_s,
            data_s=phases.data_s,
        ),
        bounds=BoundSummary(
            compute_s=bounds.compute_s,
            memory_s=bounds.memory_s,
            launch_s=bounds.launch_s,
            host_s=bounds.host_s,
            communication_s=bounds.communication_s,
            serial_s=bounds.serial_s,
        ),
    )
