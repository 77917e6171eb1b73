"""How near predictions are on this machine: zoo networks measured, before and after calibrating on others."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.here_calibration import Row, at_measured_clock, fitted, measure_rows
from estimator.app.host import host_devices
from estimator.app.measurement import Subject, device_of_process, order_of
from estimator.app.prediction import lowered
from estimator.app.source import open_network
from estimator.catalog.calibration import load_calibration
from estimator.errors import InputError, MeasurementError
from estimator.hardware.architecture import DeviceKind
from estimator.measure.session import measure_step
from estimator.results.accuracy_here import AccuracyRow, HereAccuracy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.measure.session import StepMeasurement

# Kinds of networks with two batches each, small enough for one core; parameters that shorten a sequence
# or make an image smaller are part of the name.
CASES: tuple[tuple[str, tuple[str, ...], tuple[int, int]], ...] = (
    ("mlp_mnist", (), (64, 256)),
    ("autoencoder_mnist", (), (64, 256)),
    ("lenet5", (), (64, 256)),
    ("cifar10_cnn", (), (16, 64)),
    ("resnet18", (), (2, 8)),
    ("resnet50", (), (1, 4)),
    ("mobilenet_v2", (), (2, 8)),
    ("vgg11", (), (1, 4)),
    ("squeezenet1_1", (), (2, 8)),
    ("unet_bilinear", ("image=96", "width=32"), (1, 4)),
    ("lstm_lm", (), (2, 8)),
    ("gru_lm", (), (2, 8)),
    ("bert_base", ("seq=64", "layers=4"), (1, 4)),
    ("gpt2", ("seq=64",), (1, 4)),
    ("transformer_base", ("seq=64",), (1, 2)),
    ("keras_imdb_fasttext", (), (32, 128)),
)
_BUSY = 0.5  # CPUs kept busy by others
_DISTURBED = 0.2  # rounds further apart than this are followed by more, and the median of all counts
_MORE_ROUNDS = 3


def is_busy() -> bool:
    """Tell whether other work runs here: then one thread's own processor time is counted."""
    try:
        return os.getloadavg()[0] > _BUSY
    except OSError:
        return False


def accuracy_here(
    facts: HostFacts,
    *,
    seconds: float,
    rounds: int = 2,
    cpu_time: bool,
    cases: Sequence[tuple[str, tuple[str, ...], tuple[int, int]]] = CASES,
    progress: Callable[[str], None] = print,
) -> HereAccuracy:
    """Measure every case ``seconds`` long in each round, calibrate on the networks made for that, compare.

    Rounds go through all cases before a case is measured again, so that what changes on a shared machine
    shows as a difference between rounds. A network too large for the memory is left out and named.
    """
    devices = [d for d in host_devices(facts).devices if d.kind is DeviceKind.CPU]
    if not devices:
        raise InputError("this machine's CPU could not be read", hint="see estimator detect")
    specified = devices[0]
    probed = at_measured_clock(specified, facts)
    shipped = load_calibration()
    threads = 1 if cpu_time else None
    calibrating = measure_rows(
        probed, "cpu", shipped, budget_s=30.0, available_bytes=facts.memory.usable_bytes,
        threads=threads, cpu_time=cpu_time, progress=progress,
    )  # fmt: skip
    calibrated = fitted(calibrating, shipped, "measured on this machine")
    subjects = [
        _subject(name, overrides, batch, probed, seconds=seconds, cpu_time=cpu_time, facts=facts)
        for name, overrides, batches in cases
        for batch in batches
    ]
    found: dict[int, list[StepMeasurement]] = {}
    left_out = []
    for number in range(rounds):
        for index, subject in enumerate(subjects):
            progress(f"round {number + 1}: {_label(subject)}, batch {subject.training.batch}")
            run = lowered(subject.network, subject.training, DeviceKind.CPU)
            order = replace(order_of(subject, run), memory=number == 0, layers=number == 0)
            try:
                found.setdefault(index, []).append(measure_step(order))
            except MeasurementError as error:
                left_out.append(f"{_label(subject)}: {error}")
    for index in [i for i, times in found.items() if _apart(times) > _DISTURBED]:
        subject = subjects[index]
        progress(f"again: {_label(subject)}, batch {subject.training.batch}")
        run = lowered(subject.network, subject.training, DeviceKind.CPU)
        order = replace(order_of(subject, run), memory=False, layers=False)
        found[index] += [measure_step(order) for _ in range(_MORE_ROUNDS)]
    rows = [
        _row(subjects[index], measured, specified, calibrated=calibrated, shipped=shipped)
        for index, measured in sorted(found.items())
    ]
    first = found[min(found)][0]
    return HereAccuracy(
        device=probed.name, threads=threads, cpu_time=cpu_time, load=os.getloadavg()[0],
        software=", ".join(f"{name} {value}" for name, value in first.software.items()),
        clock_hz=probed.clock_hz, specified_clock_hz=specified.clock_hz, rows=tuple(rows),
        left_out=tuple(dict.fromkeys(left_out)),
    )  # fmt: skip


def _apart(measured: Sequence[StepMeasurement]) -> float:
    times = [m.step.median for m in measured]
    return max(times) / min(times) - 1


def _label(subject: Subject) -> str:
    return subject.network.name


def _subject(
    name: str,
    overrides: tuple[str, ...],
    batch: int,
    device: Device,
    *,
    seconds: float,
    cpu_time: bool,
    facts: HostFacts,
) -> Subject:
    described = open_network(name, overrides, io.BytesIO())
    return Subject(
        network=replace(described.network, name=" ".join((name, *overrides))),
        training=replace(described.training, batch=batch), name="cpu", device=device,
        calibration=load_calibration(), coverage=0.8, budget_s=seconds,
        threads=1 if cpu_time else None, cpu_time=cpu_time, available_bytes=facts.memory.usable_bytes,
    )  # fmt: skip


def _row(
    subject: Subject,
    measured: Sequence[StepMeasurement],
    specified: Device,
    *,
    calibrated: Calibration,
    shipped: Calibration,
) -> AccuracyRow:
    run = lowered(subject.network, subject.training, DeviceKind.CPU)
    rounds = tuple(m.step.median for m in measured)
    seconds = median(rounds)

    def off(device: Device, calibration: Calibration) -> float:
        row = Row(
            network=subject.network.name, batch=subject.training.batch, run=run, measured=measured[0],
            device=device_of_process(device, measured[0]),
        )  # fmt: skip
        return float(np.log(row.predicted_s(calibration) / seconds))

    first = measured[0]
    total, peak = first.sum_of_layers_s, first.memory_peak_bytes
    return AccuracyRow(
        network=subject.network.name,
        batch=subject.training.batch,
        rounds_s=rounds,
        specified=off(specified, shipped),
        probed=off(subject.device, shipped),
        calibrated=off(subject.device, calibrated),
        layers_gap=None if total is None else 1 - total / first.step.median,
        memory=None if not peak else run.workload.footprint.total_bytes / peak - 1,
    )
