"""The memory of a training step: weights, gradients, optimizer state, saved activations, the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

from estimator.networks.optimizers import state_bytes, update_bytes
from estimator.workload.workload import Footprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.layers.tape import Tensor
    from estimator.networks.calls import Call
    from estimator.networks.training import Training
    from estimator.workload.workload import LayerWork

_BLOCK = re.compile(r"^((?:.*?\.)?\d+)(\.|$)")


def block_of(path: str) -> str | None:
    """Return the block that a layer belongs to, by the outermost numbered part of its path; None for none."""
    match = _BLOCK.match(path)
    return match.group(1) if match else None


@dataclass(frozen=True, slots=True)
class Segments:
    """Checkpointed blocks: the bytes of all block inputs, and of what the largest block saves inside.

    ``largest_peak_bytes`` is the most that one block saves and its gradients in flight take together.
    """

    boundary_bytes: int
    largest_bytes: int
    largest_peak_bytes: int

    @classmethod
    def of(cls, calls: Sequence[Call], in_flight: Sequence[int]) -> Segments:
        """Cut the calls into blocks: the outermost numbered part of a path is one block."""
        inside: dict[str, int] = {}
        flying: dict[str, int] = {}
        boundaries: dict[str, int] = {}
        held: set[int] = set()
        for call, gradients in zip(calls, in_flight, strict=True):
            block = block_of(call.node.path) or call.node.path
            own: Mapping[int, int] = {s: b for s, b in call.saved.items() if s not in held}
            held |= set(own)
            inside[block] = inside.get(block, 0) + sum(own.values())
            flying[block] = max(flying.get(block, 0), gradients)
            boundaries[block] = call.outputs[0].bytes
        return cls(
            sum(boundaries.values()),
            max(inside.values(), default=0),
            max((inside[block] + flying[block] for block in inside), default=0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """What lives for a part of a step: ``in_flight`` are the gradients alive while each call's backward runs.

    ``results_bytes`` are the network's outputs, which the training loop holds on to, as far as no layer
    saves them. ``segments`` is None without checkpointing. ``casts_bytes`` are the half-precision copies of
    weights that autocast keeps to the end of the forward pass, saved for a backward or not.
    """

    in_flight: Sequence[int]
    results_bytes: int
    segments: Segments | None
    casts_bytes: int


def footprint(
    layers: Sequence[LayerWork],
    trained: tuple[Sequence[int], Sequence[int]],
    inputs: Sequence[Tensor],
    training: Training,
    passing: Passing,
) -> Footprint:
    """Return the bytes held at the peak of a step.

    ``trained`` are the elements of all trained parameters and of their gradients; sparse gradients are
    smaller than their tables. ``other_bytes`` are inputs, results, and what the peak is above all saved
    activations: each layer's backward frees what it saved, while gradients come and go, so that it may lie
    anywhere in the backward pass. In inference nothing is saved, and the two largest outputs live at once.
    """
    policy = training.precision
    parameters = sum(layer.parameters for layer in layers)
    trainable, gradients = (sum(sizes) for sizes in trained)
    weights = parameters * policy.weights.itemsize
    item = policy.activations.itemsize
    given = sum(tensor.bytes for tensor in inputs)
    if not training.training:
        transient = 2 * max((prod(layer.output_shape) for layer in layers), default=0) * item
        return Footprint(
            weights_bytes=weights,
            gradients_bytes=0,
            optimizer_bytes=0,
            activations_bytes=0,
            other_bytes=given + transient,
        )
    saved = sum(layer.saved_bytes for layer in layers)
    left = accumulate(layer.saved_bytes for layer in layers)
    peak = max((s + g for s, g in zip(left, passing.in_flight, strict=True)), default=0)
    if (segments := passing.segments) is not None:
        saved = min(saved, segments.boundary_bytes + segments.largest_bytes)
        peak = min(peak, segments.boundary_bytes + max(segments.largest_peak_bytes, passing.casts_bytes))
    beside = given + passing.results_bytes
    return Footprint(
        weights_bytes=weights,
        gradients_bytes=gradients * policy.weights.itemsize,
        optimizer_bytes=state_bytes(training.optimizer, trainable, policy),
        activations_bytes=saved,
        other_bytes=beside + max(0, peak - saved),
        updating_bytes=beside + update_bytes(training.optimizer, trained[0], policy, training.software),
    )
