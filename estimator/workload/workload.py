"""The work of one training step, layer by layer, without any hardware."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.workload.kernel import Kernel


class LayerWork(NamedTuple):
    """One call of one layer: its kernels and what it leaves in memory for the backward pass.

    ``parameters`` counts a shared weight at its first call only; ``saved_bytes`` counts a tensor that two
    layers save at the first of them only. ``output_shape`` is with the batch. ``training_only`` marks
    losses and auxiliary heads, which inference does not run. A tuple for the reason Tensor is one.
    """

    path: str
    kind: str
    output_shape: tuple[int, ...]
    parameters: int
    trainable_parameters: int
    saved_bytes: int
    kernels: tuple[Kernel, ...]
    training_only: bool = False

    def flops(self, *phases: Phase) -> int:
        """Product FLOPs of the given phases."""
        return sum(kernel.flops for kernel in self.kernels if kernel.phase in phases)

    @property
    def forward_flops(self) -> int:
        """Product FLOPs of the forward pass."""
        return self.flops(Phase.FORWARD)

    @property
    def backward_flops(self) -> int:
        """Product FLOPs of dgrad and wgrad."""
        return self.flops(Phase.DGRAD, Phase.WGRAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """Bytes that the replicas must exchange in a step (``kind`` all_reduce, reduce_scatter, all_gather)."""

    kind: str
    bytes: int
    buckets: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Bytes a training step holds on one device at its peak.

    ``updating_bytes`` are what the optimizer's update holds when all activations are gone: a moment apart,
    which is the peak of a step whose weights are larger than its activations.
    """

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    other_bytes: int
    updating_bytes: int = 0

    @property
    def moments_bytes(self) -> tuple[int, int]:
        """What is held at the peak of the backward pass and in the update; each is linear in the batch."""
        kept = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return kept + self.activations_bytes + self.other_bytes, kept + self.updating_bytes

    @property
    def total_bytes(self) -> int:
        """The larger of the two moments."""
        return max(self.moments_bytes)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A training step of ``batch`` samples on one device.

    ``repeats`` forward and backward passes (accumulation) precede the one pass of ``optimizer``. The work of
    ``custom_layers`` is what the user says, of ``unstated_layers`` among them the user says nothing.
    """

    network: str
    batch: int
    layers: tuple[LayerWork, ...]
    optimizer: tuple[Kernel, ...]
    footprint: Footprint
    collectives: tuple[Collective, ...] = ()
    repeats: int = 1
    input_bytes: int = 0
    custom_layers: tuple[str, ...] = field(default=())
    unstated_layers: tuple[str, ...] = field(default=())

    @property
    def parameters(self) -> int:
        """All weights, shared ones once."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def forward_flops(self) -> int:
        """Product FLOPs of one forward pass of the batch."""
        return sum(layer.forward_flops for layer in self.layers)

    @cached_property
    def backward_flops(self) -> int:
        """Product FLOPs of one backward pass of the batch."""
        return sum(layer.backward_flops for layer in self.layers)
