"""How a model is spread over devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """How a model is spread: ``data`` x ``tensor`` x ``pipeline`` x ``context`` devices.

    ``experts``: devices, of those that divide the data, that share the experts of a mixture; ``virtual``:
    interleaved stages a device; ``sharding``: none, zero1 (optimizer state over the data-parallel ranks),
    fsdp (weights and gradients too).
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    experts: int = 1
    virtual: int = 1
    sharding: str = "none"
    sequence_parallel: bool = False

    @property
    def model_devices(self) -> int:
        """Devices that hold one replica between them."""
        return self.tensor * self.pipeline * self.context
