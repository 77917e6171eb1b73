"""One whole measurement: checks before anything is allocated, the repetitions, and what they come to."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from estimator.errors import MeasurementError
from estimator.measure.clock import clock_of
from estimator.measure.framework import check_device, import_torch, versions
from estimator.measure.group import current_group
from estimator.measure.loop import repeat
from estimator.measure.memory import check_room, peak_of
from estimator.measure.noise import moment, warnings_of
from estimator.measure.statistics import times_of
from estimator.measure.step import TrainingStep
from estimator.software import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from estimator.measure.framework import Torch
    from estimator.measure.group import Group
    from estimator.measure.loop import Progress, Repetitions
    from estimator.measure.statistics import Times
    from estimator.networks.graph import Network
    from estimator.networks.training import Training

DEFAULT_BUDGET_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLayer:
    """Median seconds of one layer, of the steps in which layers were watched."""

    path: str
    forward_s: float
    backward_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMeasurement:
    """What a real step took: whole, by phase (medians), by layer, and the most memory of its tensors.

    ``layers`` is empty where they could not be watched (compiled code); ``processes`` ran in step.
    """

    step: Times
    phases: Mapping[str, Times]
    layers: tuple[MeasuredLayer, ...]
    memory_peak_bytes: int | None
    parameters: int
    device: str
    warm_up_steps: int
    interrupted: bool
    processes: int = 1
    threads: int | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def sum_of_layers_s(self) -> float | None:
        """Seconds of all layers and the optimizer, None where layers were not watched."""
        if not self.layers:
            return None
        optimizer = self.phases.get("optimizer")
        layers = sum(layer.forward_s + layer.backward_s for layer in self.layers)
        return layers + (optimizer.median if optimizer else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to measure: ``needed_bytes`` of which ``limit_bytes`` are this process's at most.

    ``largest_batch`` is what would fit, for the message where it does not. ``memory`` and ``layers`` ask for
    the most memory held and for times by layer. ``threads`` is what PyTorch may use (None: as it likes);
    ``cpu_time`` counts the processor time of one thread instead of the clock's, for busy machines.
    """

    network: Network
    training: Training
    device: str
    needed_bytes: int
    limit_bytes: int | None = None
    largest_batch: int | None = None
    budget_s: float = DEFAULT_BUDGET_S
    memory: bool = True
    layers: bool = True
    threads: int | None = None
    cpu_time: bool = False


def measure_step(order: Order, progress: Progress | None = None) -> StepMeasurement:
    """Build the network, run it for about the budget, and return what was measured.

    Raises MeasurementError for a wrong device, too little memory, a loss that is no number or a process
    of the group that ended; MissingPackageError without PyTorch.
    """
    group = current_group(order.device)
    device = check_device(group.device(order.device))
    check_room(order.needed_bytes, device, limit=order.limit_bytes, largest=order.largest_batch)
    _check_cpu_time(order, device)
    try:
        with group, _threads(order.threads):
            return _measured(order, device, group, progress)
    except MemoryError as error:
        raise _out_of_memory(order, error) from None
    except RuntimeError as error:
        raise _explained(order, error) from None


def _check_cpu_time(order: Order, device: Torch) -> None:
    if order.cpu_time and (device.type != "cpu" or order.threads != 1):
        raise MeasurementError(
            "the processor's time stands for a step only where one thread of a CPU does all of it",
            hint="measure with --device cpu --threads 1 --cpu-time",
        )


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let PyTorch use so many threads inside."""
    torch = import_torch()
    usual = torch.get_num_threads()
    torch.set_num_threads(count or usual)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def _measured(order: Order, device: Torch, group: Group, progress: Progress | None) -> StepMeasurement:
    torch = import_torch()
    clock = clock_of(device, cpu_time=order.cpu_time)
    step = TrainingStep(order.network, order.training, device)
    if group.size > 1:
        step.wrap(group.wrap(device))
    watch = order.layers and order.training.software.mode is not Mode.COMPILED
    index = (device.index or 0) if device.type == "cuda" else None
    before = moment(index)
    done = repeat(
        step,
        clock,
        order.budget_s,
        watch=watch,
        agree=group.agree,
        progress=progress if group.first else None,
    )
    after = moment(index)
    times = times_of(done.steps_s)
    peak = peak_of(step, clock) if order.memory and not done.interrupted else None
    return StepMeasurement(
        step=times,
        phases={name: times_of(seconds) for name, seconds in done.phases_s.items()},
        layers=_layers(order.network, done),
        memory_peak_bytes=peak,
        parameters=step.parameters,
        device=str(device),
        warm_up_steps=done.warm_up,
        interrupted=done.interrupted,
        processes=group.size,
        threads=torch.get_num_threads() if device.type == "cpu" else None,
        software=versions(device),
        warnings=warnings_of(before, after, done.steps_s, times, processes=group.size),
    )


def _layers(network: Network, done: Repetitions) -> tuple[MeasuredLayer, ...]:
    """Return the layers that ran, in the order of the network."""

    def median(seconds: list[float] | None) -> float:
        return times_of(seconds).median if seconds else 0.0

    return tuple(
        MeasuredLayer(
            path=network.nodes[index].path,
            forward_s=median(done.forward_s[index]),
            backward_s=median(done.backward_s.get(index)),
        )
        for index in sorted(done.forward_s)
    )


def _explained(order: Order, error: RuntimeError) -> MeasurementError:
    """Return what a failure of PyTorch means to the user."""
    text = str(error)
    if type(error).__name__ == "OutOfMemoryError" or "not enough memory" in text or "out of memory" in text:
        return _out_of_memory(order, error)
    if any(word in text for word in ("Connection closed by peer", "Connection reset", "NCCL", "gloo")):
        return MeasurementError(
            f"another process of the group ended or does not answer: {_first_line(text)}",
            hint="look at its output; all processes must run the same command",
        )
    return MeasurementError(
        f"PyTorch cannot run {order.network.name}: {_first_line(text)}",
        hint="this may be a mistake of this tool: please report it with the network's file",
    )


def _out_of_memory(order: Order, error: BaseException) -> MeasurementError:
    return MeasurementError(
        f"out of memory at batch {order.training.batch}: {_first_line(str(error)) or 'allocation failed'}",
        hint="measure with a smaller --batch",
    )


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
