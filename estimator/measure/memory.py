"""Memory of a measurement: what is free before it, and the most it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.errors import MeasurementError
from estimator.measure.framework import import_torch
from estimator.units import format_bytes

if TYPE_CHECKING:
    from estimator.measure.clock import Clock
    from estimator.measure.framework import Torch
    from estimator.measure.step import TrainingStep


def free_bytes(device: Torch) -> int:
    """Return the memory that could be allocated on a device now."""
    if device.type == "cuda":
        free, _ = import_torch().cuda.mem_get_info(device)
        return int(free)
    import psutil

    return int(psutil.virtual_memory().available)


def check_room(needed: int, device: Torch, *, limit: int | None = None, largest: int | None = None) -> None:
    """Raise MeasurementError where a step would not fit, before anything is allocated.

    ``limit`` is what a control group leaves to this process; ``largest`` the batch that would fit.
    """
    free = min(free_bytes(device), limit) if limit else free_bytes(device)
    if needed <= free:
        return
    hint = f"measure with --batch {largest}" if largest else "measure a smaller network, or predict it"
    raise MeasurementError(
        f"the step needs about {format_bytes(needed)} and {format_bytes(free)} are free on {device}",
        hint=hint,
    )


def peak_of(step: TrainingStep, clock: Clock) -> int | None:
    """Run one step more and return the most bytes of tensors it held, with weights and optimizer state.

    On a GPU the allocator counts; on a CPU the profiler's record of each allocation is added up. What
    libraries take beside tensors is in neither. None where the device tells nothing.
    """
    torch = import_torch()
    if step.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(step.device)
        step.run(clock)
        clock.settle()
        return int(torch.cuda.max_memory_allocated(step.device))
    if step.device.type != "cpu":
        return None
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        step.run(clock)
    held = most = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return resident_bytes(step) + most


def resident_bytes(step: TrainingStep) -> int:
    """Return the bytes of tensors that live from step to step: weights, constants, state and inputs."""
    torch = import_torch()
    tensors = [*step.graph.parameters(), *step.graph.buffers(), *step.inputs]
    if step.optimizer is not None:
        for state in step.optimizer.state.values():
            tensors += [value for value in state.values() if torch.is_tensor(value)]
    return sum(t.numel() * t.element_size() for t in tensors)
