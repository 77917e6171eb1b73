"""The use case of ``estimator memory``: what a step holds, the largest batch, and what remedies cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.app.fit import memory_summary
from estimator.app.prediction import lowered
from estimator.app.request import assumptions_of, training_of
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing
from estimator.precision import POLICIES, DType
from estimator.predict.paths import product_path
from estimator.predict.step import estimate_step
from estimator.results.memory import DeviceMemory, MemoryResult, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from estimator.app.here import Grounds
    from estimator.app.request import Request
    from estimator.app.source import Described
    from estimator.hardware.device import Device
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.results.prediction import MemorySummary

_LEANER = ("sgd", "momentum", "lion", "adafactor")  # what may replace an optimizer with more state
_SPARING = 0.98  # a remedy that saves less than 2 % is none


def memory(described: Described, request: Request, machines: Mapping[str, Grounds]) -> MemoryResult:
    """Return the memory on each device, by the name it was given.

    A device that cannot do it is a warning unless it is the only one.
    """
    training = training_of(request, described.training)
    devices, refused = [], []
    for name, grounds in machines.items():
        probe = _Probe(described.network, grounds)
        try:
            devices.append(probe.answer(name, training))
        except InputError as error:
            refused.append(str(error))
    if not devices:
        raise InputError(refused[0])
    said = [*assumptions_of(request, training), *(a for one in machines.values() for a in one.assumptions)]
    return MemoryResult(
        inputs={
            **request.inputs(), "network": described.network.name, "network_file": request.network,
            "batch": training.batch, "precision": training.precision.name,
            "optimizer": training.optimizer.name, "accumulation": training.accumulation,
        },
        parameters=lower(described.network, training).parameters,
        devices=tuple(devices),
        assumptions=tuple(dict.fromkeys(said)),
        warnings=tuple(refused),
    )  # fmt: skip


class _Probe:
    """Memory and time a sample of any recipe of one network on one device."""

    def __init__(self, network: Network, grounds: Grounds) -> None:
        self._network = network
        self._device = grounds.device
        self._calibration = grounds.calibration

    def answer(self, name: str, training: Training) -> DeviceMemory:
        """Return the recipe's own memory and what each remedy would do to it."""
        held, step_s = self._at(training)
        base_s = step_s / (training.batch * training.accumulation)
        remedies = []
        for remedy, flags, changed, note in changes(training, self._device, held):
            other, other_s = self._at(changed)
            if other.total_bytes > _SPARING * held.total_bytes:
                continue
            samples = changed.batch * changed.accumulation
            remedies.append(
                Remedy(
                    name=remedy,
                    flags=flags,
                    memory=other,
                    saved_bytes=held.total_bytes - other.total_bytes,
                    time_ratio=other_s / samples / base_s,
                    note=note,
                )
            )
        remedies.sort(key=lambda r: (r.memory.fits is False, r.time_ratio or 0.0))
        return DeviceMemory(
            device=self._device.name, called=name, batch=training.batch, memory=held, step_s=step_s,
            remedies=tuple(remedies),
        )  # fmt: skip

    def _at(self, training: Training) -> tuple[MemorySummary, float]:
        from estimator.hardware.system import System

        run = lowered(self._network, training, self._device.kind)
        step = estimate_step(
            run.workload, System(device=self._device), software=run.training.software,
            policy=run.training.precision, calibration=self._calibration,
            input_samples_per_s=run.training.images_per_s,
        )  # fmt: skip
        era = training.software.era
        summary = memory_summary(run.workload.footprint, run.doubled, self._device, training.batch, era)
        return summary, step.time.expected


def changes(
    training: Training, device: Device, held: MemorySummary
) -> Iterator[tuple[str, str, Training, str]]:
    """Give the remedies there are for a recipe: name, flags, the changed recipe, what else it costs."""
    if not training.training:
        if training.batch > 1:
            yield from _smaller(training, held)
        return
    half = _half(device) if training.precision.name in {"fp32", "tf32"} else None
    if half is not None:
        mixed = replace(training, precision=POLICIES.get(half))
        yield "mixed precision", f"--precision {half}", mixed, "activations in 16 bits, weights stay fp32"
    if training.checkpointing is Checkpointing.NONE:
        blocks = replace(training, checkpointing=Checkpointing.BLOCKS)
        yield "checkpointing", "--checkpointing blocks", blocks, "the forward pass runs twice"
        if half is not None:
            both = replace(blocks, precision=POLICIES.get(half))
            yield "both of these", f"--precision {half} --checkpointing blocks", both, "as above"
    if training.batch > 1:
        batch = training.batch // 2 if held.fits is not False else max(1, _fitting(training, held))
        factor = -(-training.batch // batch)
        split = replace(training, batch=batch, accumulation=training.accumulation * factor)
        flags = f"--batch {batch} --accumulation {split.accumulation}"
        yield "accumulation", flags, split, "the same global batch in more passes"
        yield from _smaller(training, held)
    for name in _LEANER:
        rule = OPTIMIZERS.get(name)
        if rule.states < training.optimizer.states:
            note = f"{rule.states:g} states a weight, not {training.optimizer.states:g}: may train worse"
            yield f"optimizer {name}", f"--optimizer {name}", replace(training, optimizer=rule), note


def _smaller(training: Training, held: MemorySummary) -> Iterator[tuple[str, str, Training, str]]:
    batch = training.batch // 2 if held.fits is not False else max(1, _fitting(training, held))
    note = "another global batch: the learning rate must follow"
    yield "smaller batch", f"--batch {batch}", replace(training, batch=batch), note


def _fitting(training: Training, held: MemorySummary) -> int:
    """Return the largest batch that fits, halved from the present one: powers of two run well."""
    largest = held.largest_batch or 1
    batch = training.batch
    while batch > 1 and batch > largest:
        batch //= 2
    return batch


def _half(device: Device) -> str | None:
    """Return the 16-bit policy a device runs: bf16 where it has it, else fp16."""
    for name, dtype in (("amp-bf16", DType.BF16), ("amp", DType.FP16)):
        if device.kind is DeviceKind.CPU:
            if device.peaks.best(DType.BF16):
                return "amp-bf16"
            continue
        if dtype in device.peaks.matrix or dtype in device.peaks.vector:
            product_path(device, dtype)
            return name
    return None
