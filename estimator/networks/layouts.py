"""The memory layout that a compiler chooses for the images of a network, whatever it was given."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from estimator.networks.lowering import lower
from estimator.software import Layout, Mode
from estimator.workload.kernel import ConvShape, Phase

if TYPE_CHECKING:
    from estimator.networks.graph import Network
    from estimator.networks.training import Training

FIRST_ERA = 2023  # TorchInductor has chosen layouts since PyTorch 2.1
_SMALL = 64  # channels in and out
# How TorchInductor weighs the FLOPs of inference in channels-last against channels-first.
_WEIGHTS = {"grouped": 1.358, "small": 0.783, "in_out": 0.725, "default": 0.823}


def settled(network: Network, training: Training, *, on_cpu: bool) -> Training:
    """Return the training in the layout that its compiler chooses; others keep the one they have.

    The rules are those of TorchInductor's ``GraphLowering.decide_layout_opt`` (PyTorch 2.1 and later), taken
    for other compilers too: on CPUs always channels-last; in training unless a convolution is grouped (but
    not depth-wise), or halves its channels, or all are small; in inference where the weighted FLOPs say so.
    """
    software = training.software
    if (
        software.mode is not Mode.COMPILED
        or software.era < FIRST_ERA
        or software.layout is not Layout.CHANNELS_FIRST
    ):
        return training
    shapes = [
        kernel.shape
        for layer in lower(network, replace(training, batch=1)).layers
        for kernel in layer.kernels
        if kernel.phase is Phase.FORWARD and isinstance(kernel.shape, ConvShape)
    ]
    if not shapes or not (on_cpu or _gains(shapes, training=training.training)):
        return training
    return replace(training, software=replace(software, layout=Layout.CHANNELS_LAST))


def _gains(shapes: list[ConvShape], *, training: bool) -> bool:
    if training:
        kinds = [_kind(shape) for shape in shapes]
        halves = any(_halves(shape) for shape in shapes)
        return "grouped" not in kinds and not halves and not all(_is_small(shape) for shape in shapes)
    flops: dict[str, int] = defaultdict(int)
    for shape in shapes:
        flops[_kind(shape)] += shape.flops
    return sum(_WEIGHTS[kind] * count for kind, count in flops.items()) <= sum(flops.values())


def _kind(shape: ConvShape) -> str:
    if shape.groups > 1 and shape.c_in > shape.groups:
        return "grouped"
    if _is_small(shape):
        return "small"
    return "in_out" if _halves(shape) else "default"


def _is_small(shape: ConvShape) -> bool:
    return shape.c_out <= _SMALL and shape.c_in // shape.groups <= _SMALL


def _halves(shape: ConvShape) -> bool:
    return 2 * shape.c_out <= shape.c_in // shape.groups and prod(shape.kernel) > 1
