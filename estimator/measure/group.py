"""The group of processes a measurement is part of, as torchrun starts one: gradients are exchanged in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from estimator.errors import MeasurementError
from estimator.measure.framework import import_torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from estimator.measure.framework import Torch

_PATIENCE = timedelta(seconds=120)  # for a process that has ended: long enough for the slowest to start


@dataclass(slots=True, kw_only=True)
class Group:
    """``size`` processes, of which this is number ``rank``, number ``local_rank`` on its host."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    backend: str = "gloo"

    @property
    def first(self) -> bool:
        """Whether this process reports."""
        return self.rank == 0

    def device(self, asked: str) -> str:
        """Return the device of this process: each has its own GPU, all share the CPU."""
        if self.size == 1 or not asked.startswith("cuda"):
            return asked
        return f"cuda:{self.local_rank}"

    def __enter__(self) -> Self:
        """Join the others; raises MeasurementError where they do not come."""
        if self.size > 1:
            distributed = import_torch().distributed
            try:
                distributed.init_process_group(self.backend, timeout=_PATIENCE)
            except (RuntimeError, ValueError) as error:
                raise MeasurementError(
                    f"the {self.size} processes do not find each other: {error}",
                    hint="start them with torchrun, all with the same command",
                ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the others; after a failure they are not waited for."""
        if self.size > 1 and kind is None:
            import_torch().distributed.destroy_process_group()

    def wrap(self, device: Torch) -> Callable[[Torch], Torch]:
        """Return what makes a module exchange its gradients while backward runs."""
        torch = import_torch()
        ids = [device.index] if device.type == "cuda" else None
        return lambda model: torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)

    def agree(self, number: int) -> int:
        """Return the first process's number in all of them."""
        if self.size == 1:
            return number
        torch = import_torch()
        device = f"cuda:{self.local_rank}" if self.backend == "nccl" else "cpu"
        value = torch.tensor([number], dtype=torch.int64, device=device)
        torch.distributed.broadcast(value, src=0)
        return int(value.item())


def current_group(device: str) -> Group:
    """Return the group that the environment says this process is in, alone where it says nothing.

    GPUs exchange by NCCL, CPUs by gloo.
    """
    size = _number("WORLD_SIZE", 1)
    if size <= 1:
        return Group()
    return Group(
        rank=_number("RANK", 0),
        size=size,
        local_rank=_number("LOCAL_RANK", 0),
        local_size=_number("LOCAL_WORLD_SIZE", size),
        backend="nccl" if device.startswith("cuda") else "gloo",
    )


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else default
