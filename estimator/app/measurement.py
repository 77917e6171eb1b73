"""The use case of ``estimator measure``: a real step on this machine beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.fit import largest_batch
from estimator.app.prediction import lowered
from estimator.catalog.cpu_parts import with_cores
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.system import System
from estimator.measure.framework import has_torch
from estimator.measure.numpy_products import measure_products
from estimator.measure.session import Order, measure_step
from estimator.predict.step import estimate_step
from estimator.results.measurement import (
    ExpectedTime,
    LayerError,
    LayerSeconds,
    MeasuredStep,
    MeasuredTime,
    MeasurementErrors,
    MeasurementResult,
    PhaseErrors,
    PredictedStep,
    StepPhases,
)
from estimator.results.prediction import DeviceSummary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.app.prediction import LoweredRun
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import Interconnect
    from estimator.measure.loop import Progress
    from estimator.measure.session import StepMeasurement
    from estimator.measure.statistics import Times
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.predict.estimate import StepEstimate

# What a process holds beside its tensors, and what allocators waste: a check, not a prediction.
_CONTEXT_BYTES = 300 * 10**6
_MARGIN = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is measured, on which of this host's devices, and what its prediction rests on.

    ``name`` is PyTorch's name of the device; ``link`` joins the processes where there are several;
    ``measured_here`` says that the calibration was made on this machine.
    """

    network: Network
    training: Training
    name: str
    device: Device
    calibration: Calibration
    coverage: float
    budget_s: float
    link: Interconnect | None = None
    measured_here: bool = False
    available_bytes: int | None = None
    threads: int | None = None
    cpu_time: bool = False


def measure(
    subject: Subject, inputs: Mapping[str, object], progress: Progress | None = None
) -> MeasurementResult:
    """Measure a step and return it beside its prediction; without PyTorch, its products by NumPy."""
    run = lowered(subject.network, subject.training, subject.device.kind)
    if not has_torch():
        return _by_products(subject, run, inputs)
    measured = measure_step(order_of(subject, run), progress)
    device = device_of_process(subject.device, measured)
    predicted, why = _predict(subject, run, device, measured.processes)
    return MeasurementResult(
        inputs={**inputs, "processes": measured.processes},
        device=device_summary(device, measured.processes),
        predicted=None if predicted is None else _predicted(predicted, run),
        measured=_measured(measured),
        error=None if predicted is None else _errors(predicted, measured, run),
        warnings=(*why, *_interrupted(measured), *measured.warnings),
    )


def order_of(subject: Subject, run: LoweredRun) -> Order:
    """Return what the measurement is told: the recipe as frameworks run it on the device's kind."""
    moments, doubled = (
        [size * _MARGIN + _CONTEXT_BYTES for size in one.moments_bytes]
        for one in (run.workload.footprint, run.doubled)
    )
    room = subject.available_bytes
    return Order(
        network=subject.network,
        training=run.training,
        device=subject.name,
        needed_bytes=round(max(moments)),
        limit_bytes=subject.available_bytes,
        largest_batch=None
        if room is None
        else largest_batch(run.training.batch, moments, doubled, room) or None,
        budget_s=subject.budget_s,
        threads=subject.threads,
        cpu_time=subject.cpu_time,
    )


def device_of_process(device: Device, measured: StepMeasurement) -> Device:
    """Return the part of a CPU that one process used: as many cores as it had threads."""
    if device.kind is not DeviceKind.CPU or measured.threads is None or measured.threads >= device.all_units:
        return device
    return with_cores(device, float(measured.threads))


def _predict(
    subject: Subject, run: LoweredRun, device: Device, processes: int
) -> tuple[StepEstimate | None, tuple[str, ...]]:
    training = run.training
    try:
        return estimate_step(
            run.workload,
            System(device=device, count=processes, within=subject.link if processes > 1 else None),
            software=training.software,
            policy=training.precision,
            calibration=subject.calibration,
            coverage=subject.coverage,
            measured_here=subject.measured_here,
        ), ()
    except InputError as error:
        return None, (f"no prediction: {error}",)


def predicted_rate(subject: Subject) -> float:
    """Return the samples a second that a network is predicted to train on."""
    run = lowered(subject.network, subject.training, subject.device.kind)
    predicted, why = _predict(subject, run, subject.device, 1)
    if predicted is None:
        raise InputError(why[0])
    return predicted.samples_per_s


def device_summary(device: Device, count: int = 1) -> DeviceSummary:
    """Return a device as results show it."""
    return DeviceSummary(
        name=device.name,
        id=device.id,
        kind=device.kind.value,
        devices=count,
        detected=device.detected,
        lanes=device.lanes,
        peak_flop_per_s=max((*device.peaks.vector.values(),), default=None),
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
    )


def _predicted(step: StepEstimate, run: LoweredRun) -> PredictedStep:
    phases = step.phases
    return PredictedStep(
        step_s=ExpectedTime(
            expected=step.time.expected, low=step.time.low, high=step.time.high, basis=step.time.basis
        ),
        phases=StepPhases(
            forward_s=phases.forward_s,
            backward_s=phases.backward_s,
            optimizer_s=phases.optimizer_s,
            communication_s=phases.communication_s,
        ),
        layers=tuple(
            LayerSeconds(path=t.path, forward_s=t.forward_s, backward_s=t.backward_s) for t in step.layers
        ),
        memory_bytes=run.workload.footprint.total_bytes,
    )


def measured_time(times: Times) -> MeasuredTime:
    """Return times as results show them."""
    return MeasuredTime(median=times.median, p10=times.p10, p90=times.p90, steps=times.steps)


def _measured(measured: StepMeasurement) -> MeasuredStep:
    total = measured.sum_of_layers_s
    return MeasuredStep(
        step_s=measured_time(measured.step),
        phases=_phases(measured),
        layers=tuple(
            LayerSeconds(path=layer.path, forward_s=layer.forward_s, backward_s=layer.backward_s)
            for layer in measured.layers
        ),
        memory_peak_bytes=measured.memory_peak_bytes,
        sum_of_layers_s=total,
        layers_gap=None if total is None else 1 - total / measured.step.median,
        method="pytorch",
        warm_up_steps=measured.warm_up_steps,
        interrupted=measured.interrupted,
        processes=measured.processes,
        threads=measured.threads,
        software=dict(measured.software),
    )


def _phases(measured: StepMeasurement) -> StepPhases:
    def median(name: str) -> float | None:
        return measured.phases[name].median if name in measured.phases else None

    return StepPhases(
        forward_s=median("forward"), backward_s=median("backward"), optimizer_s=median("optimizer")
    )


def _errors(step: StepEstimate, measured: StepMeasurement, run: LoweredRun) -> MeasurementErrors:
    phases = _phases(measured)
    predicted = {t.path: t for t in step.layers}
    # Where gradients are exchanged, the exchange hides in the measured backward.
    backward_s = step.phases.backward_s + step.phases.communication_s
    return MeasurementErrors(
        step=step.time.expected / measured.step.median - 1,
        inside=step.time.low <= measured.step.median <= step.time.high,
        phases=PhaseErrors(
            forward=_off(step.phases.forward_s, phases.forward_s),
            backward=_off(backward_s, phases.backward_s),
            optimizer=_off(step.phases.optimizer_s, phases.optimizer_s),
        ),
        layers=tuple(
            LayerError(
                path=layer.path,
                both=_off(
                    predicted[layer.path].forward_s + predicted[layer.path].backward_s,
                    layer.forward_s + layer.backward_s,
                ),
                forward=_off(predicted[layer.path].forward_s, layer.forward_s),
                backward=_off(predicted[layer.path].backward_s, layer.backward_s),
            )
            for layer in measured.layers
            if layer.path in predicted
        ),
        memory=_off(run.workload.footprint.total_bytes, measured.memory_peak_bytes),
    )


def _off(predicted: float, measured: float | None) -> float | None:
    return predicted / measured - 1 if measured else None


def _interrupted(measured: StepMeasurement) -> tuple[str, ...]:
    if not measured.interrupted:
        return ()
    return (f"interrupted after {measured.step.steps} steps: the result is what there was by then",)


def _by_products(subject: Subject, run: LoweredRun, inputs: Mapping[str, object]) -> MeasurementResult:
    """Return NumPy's times of the dominant products and traffic, said to be such."""
    found = measure_products(run.workload, subject.budget_s)
    predicted, why = _predict(subject, run, subject.device, 1)
    said = (
        "PyTorch is not installed: these are NumPy's times for the step's matrix products "
        f"({100 * found.share:.0f} % of its FLOPs were timed) and for copying the bytes that its other "
        "kernels move; no training step ran. pip install 'estimator[torch]' measures one"
    )
    return MeasurementResult(
        inputs=dict(inputs),
        device=device_summary(subject.device),
        predicted=None if predicted is None else _predicted(predicted, run),
        measured=MeasuredStep(
            step_s=measured_time(found.step),
            phases=StepPhases(forward_s=None, backward_s=None, optimizer_s=None),
            layers=(
                LayerSeconds(path="matrix products", forward_s=found.products_s, backward_s=0.0),
                LayerSeconds(path="other traffic", forward_s=found.traffic_s, backward_s=0.0),
            ),
            memory_peak_bytes=None,
            sum_of_layers_s=found.products_s + found.traffic_s,
            layers_gap=None,
            method="numpy",
            warm_up_steps=0,
            interrupted=False,
            processes=1,
            threads=None,
            software={"numpy": _numpy_version()},
        ),
        error=None
        if predicted is None
        else MeasurementErrors(
            step=predicted.time.expected / found.step.median - 1,
            inside=predicted.time.low <= found.step.median <= predicted.time.high,
            phases=PhaseErrors(forward=None, backward=None, optimizer=None),
            layers=(),
            memory=None,
        ),
        warnings=(said, *why),
    )


def _numpy_version() -> str:
    import numpy as np

    return str(np.__version__)
