"""Whole runs of one network on many devices: with micro-batches where the batch does not fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.app.fit import usable_bytes
from estimator.app.fleet import Roster, able
from estimator.app.request import run_on
from estimator.app.spans import stretch_at
from estimator.hardware.architecture import DeviceKind
from estimator.predict.collectives import data_parallel_s, exchange_s
from estimator.predict.step import range_of
from estimator.predict.sweep import with_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.fleet import AloneSteps
    from estimator.app.spans import Stretch
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.predict.interval import TimeRange
    from estimator.workload.workload import Collective

_MOST_HALVINGS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How much a run trains, whatever the system: samples an epoch, epochs, and how many are validated."""

    samples: int
    epochs: float
    validation_samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStep:
    """One device's share of a step: ``batch`` samples a pass, ``accumulation`` passes, then the update.

    ``alone`` and ``together`` are the factors of its range on one device and on several.
    """

    device: Device
    batch: int
    accumulation: int
    alone_s: float
    forward_s: float
    busy_s: float
    alone: TimeRange
    together: TimeRange
    memory_bytes: int
    fits: bool | None
    collectives: tuple[Collective, ...]
    images_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTime:
    """A run on a system: expected seconds, the factors of its range, and the share kernels are busy."""

    run_s: float
    low: float
    high: float
    busy_share: float


def device_steps(
    network: Network,
    training: Training,
    devices: Sequence[Device],
    calibration: Calibration,
    *,
    coverage: float,
    most_bytes: int | None = None,
    measured_here: bool = False,
) -> tuple[list[DeviceStep | None], dict[str, str]]:
    """Return each device's step in the order given, None where it cannot run it, and why not by id.

    A batch that does not fit is halved, with twice the passes, until it does: the global batch stays. Where
    not even a batch of 1 fits, the step is that of the whole batch and does not fit. ``most_bytes`` is what a
    step may hold where a device has more; ``measured_here`` tells that the calibration is of these devices.
    """
    found: list[DeviceStep | None] = [None] * len(devices)
    refused: dict[str, str] = {}
    for kind in DeviceKind:
        places = [i for i, device in enumerate(devices) if device.kind is kind]
        if places:
            job = _Kind(
                network, run_on(network, training, kind), calibration,
                coverage=coverage, most_bytes=most_bytes, measured_here=measured_here,
            )  # fmt: skip
            steps, lacking = job.steps([devices[i] for i in places])
            refused |= lacking
            for place, step in zip(places, steps, strict=True):
                found[place] = step
    return found, refused


class _Kind:
    """The devices of one kind, which run the same kernels."""

    def __init__(
        self,
        network: Network,
        training: Training,
        calibration: Calibration,
        *,
        coverage: float,
        most_bytes: int | None,
        measured_here: bool,
    ) -> None:
        self._network = network
        self._training = training
        self._calibration = calibration
        self._coverage = coverage
        self._most_bytes = most_bytes
        self._measured_here = measured_here
        self._stretches: dict[int, Stretch] = {}

    def _stretch(self, halvings: int) -> Stretch:
        if halvings not in self._stretches:
            batch = max(1, self._training.batch >> halvings)
            passes = -(-self._training.batch // batch)
            recipe = replace(self._training, batch=batch, accumulation=self._training.accumulation * passes)
            self._stretches[halvings] = stretch_at(self._network, recipe)
        return self._stretches[halvings]

    def steps(self, devices: Sequence[Device]) -> tuple[list[DeviceStep | None], dict[str, str]]:
        """Return the step of each device."""
        fit, lacking = able(self._stretch(0).span.small, devices)
        known = {id(device) for device in fit}
        halvings = {i: self._halvings(d) for i, d in enumerate(devices) if id(d) in known}
        found: list[DeviceStep | None] = [None] * len(devices)
        for level in sorted(set(halvings.values())):
            places = [i for i, halved in halvings.items() if halved == level]
            stretch = self._stretch(max(level, 0))
            members = [devices[i] for i in places]
            roster = Roster(members, stretch.training.software, self._calibration)
            steps = roster.steps(stretch.span, [stretch.low.batch])
            for column, place in enumerate(places):
                found[place] = self._step(stretch, members[column], steps, column)
        return found, lacking

    def _halvings(self, device: Device) -> int:
        """Return how often the batch must be halved to fit; -1 where nothing helps."""
        most = min(_MOST_HALVINGS, max(0, self._training.batch.bit_length() - 1))
        for halvings in range(most + 1):
            stretch = self._stretch(halvings)
            held = stretch.memory_bytes(device, [stretch.low.batch])[0]
            limits = [size for size in (usable_bytes(device), self._most_bytes) if size is not None]
            if held <= min(limits, default=held):
                return halvings
        return -1

    def _step(self, stretch: Stretch, device: Device, steps: AloneSteps, column: int) -> DeviceStep:
        held = round(float(stretch.memory_bytes(device, [stretch.low.batch])[0]))
        capacity = usable_bytes(device)
        alone, together = (
            range_of(
                1.0, bool(steps.unusual[0, column]), device,
                policy=stretch.training.precision, calibration=self._calibration, coverage=self._coverage,
                measured_here=self._measured_here, several=several,
            )
            for several in (False, True)
        )  # fmt: skip
        return DeviceStep(
            device=device,
            batch=stretch.low.batch,
            accumulation=stretch.training.accumulation,
            alone_s=float(steps.step_s[0, column]),
            forward_s=float(steps.forward_s[0, column]),
            busy_s=float(steps.busy_s[0, column]),
            alone=alone,
            together=together,
            memory_bytes=held,
            fits=None if capacity is None else held <= capacity,
            collectives=stretch.low.collectives,
            images_per_s=stretch.training.images_per_s,
        )


def run_time(step: DeviceStep, system: System, length: Length, calibration: Calibration) -> RunTime:
    """Return the time of a run on a system whose devices each take such steps, as ``estimate_run`` does."""
    exchange = sum(exchange_s(c.kind, c.bytes, system, buckets=c.buckets) for c in step.collectives)
    _, exposed_s = data_parallel_s(
        step.alone_s, exchange, system.count, exposure=calibration.exposure, straggler=calibration.straggler
    )
    step_s, data_s = step.alone_s + exposed_s, 0.0
    if step.images_per_s:
        fed_s = float(with_host(step_s, step.batch * step.accumulation / step.images_per_s))
        step_s, data_s = fed_s, fed_s - step_s
    samples = step.batch * step.accumulation * system.count
    per_epoch = math.ceil(length.samples / samples)
    validation_s = length.validation_samples * (step.forward_s + data_s) / samples
    steps = math.ceil(per_epoch * length.epochs)
    factor = step.together if system.count > 1 else step.alone
    return RunTime(
        run_s=steps * step_s + steps / per_epoch * validation_s,
        low=factor.low,
        high=factor.high,
        busy_share=step.busy_s / step_s,
    )
