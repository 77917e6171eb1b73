"""Windows of an image or video: cutting it into them, putting it together, shifting it."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.functional.movement import contiguous, permute, reshape, rolled
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_MASK_LAUNCHES = 18  # zeros, nine regions, a permuting copy, a difference, two fills of three kernels


def partition(tape: Tape, x: Tensor, window: tuple[int, ...]) -> Tensor:
    """Return ``(N, *size, C)`` as ``(N * windows, points, C)``, a copy."""
    batch, *size, channels = x.shape
    counts = [s // w for s, w in zip(size, window, strict=True)]
    x = reshape(tape, x, (batch, *chain(*zip(counts, window, strict=True)), channels))
    x = permute(tape, x, _apart(len(window)))
    return reshape(tape, x, (batch * prod(counts), prod(window), channels))


def merge(tape: Tape, x: Tensor, shape: tuple[int, ...], window: tuple[int, ...]) -> Tensor:
    """Return the windows put together again as ``shape`` ``(N, *size, C)``, a copy."""
    batch, *size, channels = shape
    counts = [s // w for s, w in zip(size, window, strict=True)]
    x = reshape(tape, x, (batch, *counts, *window, channels))
    dims = len(window)
    order = chain(*((1 + d, 1 + dims + d) for d in range(dims)))
    return reshape(tape, permute(tape, x, (0, *order, 1 + 2 * dims)), shape)


def _apart(dims: int) -> tuple[int, ...]:
    """Return the order that brings the counts of windows before the points of one."""
    return (0, *range(1, 2 * dims, 2), *range(2, 2 * dims + 1, 2), 2 * dims + 1)


def roll(tape: Tape, x: Tensor, dims: int) -> Tensor:
    """Return ``x`` rolled along ``dims`` dimensions, a copy for each."""
    x = contiguous(tape, x)
    for _ in range(dims):
        x = rolled(tape, x, "roll")
    return x


def shift_mask(tape: Tape, windows: int, points: int) -> Tensor:
    """Return ``(windows, 1, points, points)``, which keeps apart what a shift brought together.

    Made anew at each call out of small kernels.
    """
    mask = tape.new((windows, 1, points, points), tape.policy.activations, requires_grad=False)
    tape.emit(
        traffic(
            "shift_mask", Op.ELEMENTWISE, Phase.FORWARD, compute=mask.dtype, read=6 * mask.bytes,
            written=6 * mask.bytes, elements=6 * mask.numel, launches=_MASK_LAUNCHES,
        )
    )  # fmt: skip
    return mask
