"""The memory of a training step: weights, gradients, optimizer state, saved activations, the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

from estimator.networks.optimizers import state_bytes
from estimator.workload.workload import Footprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.layers.tape import Tensor
    from estimator.networks.graph import Node
    from estimator.networks.training import Training
    from estimator.workload.workload import LayerWork

_BLOCK = re.compile(r"^((?:.*?\.)?\d+)(\.|$)")


class _LoweredCall(Protocol):
    node: Node
    outputs: tuple[Tensor, ...]
    saved: dict[int, int]


@dataclass(frozen=True, slots=True)
class Segments:
    """Checkpointed blocks: the bytes of all block inputs, and of what the largest block saves inside."""

    boundary_bytes: int
    largest_bytes: int

    @classmethod
    def of(cls, calls: Sequence[_LoweredCall]) -> Segments:
        """Cut the calls into blocks: the outermost numbered part of a path is one block."""
        inside: dict[str, int] = {}
        boundaries: dict[str, int] = {}
        held: set[int] = set()
        for call in calls:
            match = _BLOCK.match(call.node.path)
            block = match.group(1) if match else call.node.path
            own: Mapping[int, int] = {s: b for s, b in call.saved.items() if s not in held}
            held |= set(own)
            inside[block] = inside.get(block, 0) + sum(own.values())
            boundaries[block] = call.outputs[0].bytes
        return cls(sum(boundaries.values()), max(inside.values(), default=0))


def footprint(
    layers: Sequence[LayerWork],
    trained: tuple[Sequence[int], Sequence[int]],
    inputs: Sequence[Tensor],
    training: Training,
    segments: Segments | None,
) -> Footprint:
    """Return the bytes held at the peak of a step.

    ``trained`` are the elements of all trained parameters and of their gradients; sparse gradients are
    smaller than their tables. ``other_bytes`` are the inputs and the two largest activation gradients, which
    live while a layer's backward runs. In inference nothing is saved, and the two largest outputs live at
    once.
    """
    policy = training.precision
    parameters = sum(layer.parameters for layer in layers)
    trainable, gradients = (sum(sizes) for sizes in trained)
    weights = parameters * policy.weights.itemsize
    item = policy.activations.itemsize
    transient = 2 * max((prod(layer.output_shape) for layer in layers), default=0) * item
    other = transient + sum(tensor.bytes for tensor in inputs)
    if not training.training:
        return Footprint(
            weights_bytes=weights,
            gradients_bytes=0,
            optimizer_bytes=0,
            activations_bytes=0,
            other_bytes=other,
        )
    saved = sum(layer.saved_bytes for layer in layers)
    if segments is not None:
        saved = min(saved, segments.boundary_bytes + segments.largest_bytes)
    return Footprint(
        weights_bytes=weights,
        gradients_bytes=gradients * policy.weights.itemsize,
        optimizer_bytes=state_bytes(training.optimizer, trainable, policy),
        activations_bytes=saved,
        other_bytes=other,
    )
