"""Functions that move or rearrange values: views where memory allows them, copies where not."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.strides import (
    channels_last,
    explicit,
    fits_channels_last,
    is_channels_last,
    permuted,
    preserved,
    simplified,
    viewed,
)
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.layers.strides import Strides
    from estimator.layers.tape import Tape, Tensor
    from estimator.precision import DType


def moved(
    tape: Tape,
    x: Tensor,
    shape: tuple[int, ...],
    name: str,
    op: Op = Op.COPY,
    *,
    strides: Strides | None = None,
) -> Tensor:
    """Return ``x`` copied to a new shape (padding, rolling, shuffling): one copy each way, nothing kept."""
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad, strides=strides)
    least = min(x.bytes, out.bytes)
    tape.emit(
        traffic(
            name, op, Phase.FORWARD, compute=x.dtype, read=least, written=out.bytes, elements=out.numel,
            flops_per_element=0,
        )
    )  # fmt: skip
    if out.requires_grad:
        tape.emit(
            traffic(
                f"{name}_backward", op, Phase.DGRAD, compute=x.dtype, read=least, written=x.bytes,
                elements=x.numel, flops_per_element=0,
            )
        )  # fmt: skip
    return out


def contiguous(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` in the order of its shape: itself, or a copy."""
    return x if x.strides is None else moved(tape, x, x.shape, "contiguous")


def image_order(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` as image kernels take it: channels first or last, without gaps; else a copy."""
    if x.strides is None or is_channels_last(x.shape, x.strides):
        return x
    return moved(tape, x, x.shape, "contiguous")


def in_channels_last(tape: Tape, x: Tensor) -> Tensor:
    """Return an image with its channels last in memory: itself, or a copy."""
    if fits_channels_last(x.shape, x.strides):
        return x
    return moved(tape, x, x.shape, "contiguous", strides=channels_last(x.shape))


def reshape(tape: Tape, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` under another shape of as many elements: a view where memory allows, else a copy."""
    free, strides = viewed(x.shape, x.strides, shape)
    if free:
        return tape.view(x, shape, strides)
    return tape.view(contiguous(tape, x), shape)


def permute(tape: Tape, x: Tensor, dims: Sequence[int]) -> Tensor:
    """Return ``x`` with its dimensions in another order, a view."""
    shape, strides = permuted(x.shape, x.strides, dims)
    return tape.view(x, shape, strides)


def transpose(tape: Tape, x: Tensor, first: int, second: int) -> Tensor:
    """Return ``x`` with two dimensions swapped, a view."""
    dims = list(range(len(x.shape)))
    dims[first], dims[second] = dims[second], dims[first]
    return permute(tape, x, dims)


def narrow(tape: Tape, x: Tensor, dim: int, length: int, step: int = 1) -> Tensor:
    """Return a part of ``x`` along one dimension, a view; its gradient is written into zeros."""
    out = _part(tape, x, dim, length, step)
    if x.requires_grad and out.shape != x.shape:
        _zero_filled(tape, "slice_backward", x, out)
    return out


def select(tape: Tape, x: Tensor, dim: int, *, zero_filled: bool = True) -> Tensor:
    """Return one index of a dimension, which goes away; a view.

    Its gradient is written into zeros, unless all indices are taken together (``zero_filled`` False).
    """
    steps = explicit(x.shape, x.strides)
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    out = tape.view(x, shape, simplified(shape, steps[:dim] + steps[dim + 1 :]))
    if x.requires_grad and zero_filled:
        _zero_filled(tape, "select_backward", x, out)
    return out


def split(tape: Tape, x: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    """Return all parts of a dimension, views; their gradients are put together by one concatenation."""
    parts = tuple(_part(tape, x, dim, size, 1) for size in sizes)
    if x.requires_grad:
        tape.emit(
            traffic(
                "cat", Op.CONCAT, Phase.DGRAD, compute=x.dtype, read=x.bytes, written=x.bytes,
                elements=x.numel, flops_per_element=0,
            )
        )  # fmt: skip
    return parts


def _part(tape: Tape, x: Tensor, dim: int, length: int, step: int) -> Tensor:
    steps = list(explicit(x.shape, x.strides))
    steps[dim] *= step
    shape = (*x.shape[:dim], length, *x.shape[dim + 1 :])
    return tape.view(x, shape, simplified(shape, tuple(steps)))


def _zero_filled(tape: Tape, name: str, x: Tensor, out: Tensor) -> None:
    """Put the backward of a part on the tape: zeros everywhere, then the gradient copied into its place."""
    tape.emit(
        traffic(
            name, Op.CONCAT, Phase.DGRAD, compute=x.dtype, read=out.bytes, written=x.bytes + out.bytes,
            elements=x.numel, flops_per_element=0, launches=2,
        )
    )  # fmt: skip


def expand(tape: Tape, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` repeated along dimensions of size 1 (and new ones in front), a view; gradients sum."""
    lead = len(shape) - len(x.shape)
    steps = explicit(x.shape, x.strides)
    strides = (0,) * lead + tuple(
        step if size == wanted else 0 for step, size, wanted in zip(steps, x.shape, shape[lead:], strict=True)
    )
    out = tape.view(x, shape, simplified(shape, strides))
    if x.requires_grad and out.numel != x.numel:
        tape.emit(
            traffic(
                "broadcast_backward", Op.REDUCTION, Phase.DGRAD, compute=x.dtype, read=out.bytes,
                written=x.bytes, elements=out.numel,
            )
        )  # fmt: skip
    return out


def repeat(tape: Tape, x: Tensor, shape: tuple[int, ...], name: str = "repeat") -> Tensor:
    """Return copies of ``x`` that fill ``shape``; gradients sum."""
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    tape.emit(
        traffic(
            name, Op.COPY, Phase.FORWARD, compute=x.dtype, read=x.bytes, written=out.bytes,
            elements=out.numel, flops_per_element=0,
        )
    )  # fmt: skip
    if x.requires_grad:
        tape.emit(
            traffic(
                "broadcast_backward", Op.REDUCTION, Phase.DGRAD, compute=x.dtype, read=out.bytes,
                written=x.bytes, elements=out.numel,
            )
        )  # fmt: skip
    return out


def concat(tape: Tape, parts: Sequence[Tensor], shape: tuple[int, ...], dtype: DType, name: str) -> Tensor:
    """Return the parts copied behind each other to ``shape`` (their gradients are views of the result's)."""
    last = all(is_channels_last(part.shape, part.strides) for part in parts)
    out = tape.new(
        shape,
        dtype,
        requires_grad=any(part.requires_grad for part in parts),
        strides=channels_last(shape) if last else None,
    )
    tape.emit(
        traffic(
            name, Op.CONCAT, Phase.FORWARD, compute=out.dtype, read=sum(part.bytes for part in parts),
            written=out.bytes, elements=out.numel, flops_per_element=0,
        )
    )  # fmt: skip
    return out


def pad(
    tape: Tape,
    x: Tensor,
    before: tuple[int, ...],
    after: tuple[int, ...],
    *,
    name: str = "pad",
    mirrors: bool = False,
) -> Tensor:
    """Return ``x`` with its last dimensions extended (cut where negative).

    Reflecting and replicating pads (``mirrors``) keep their input and write channels-first.
    """
    kept = len(x.shape) - len(before)
    shape = x.shape[:kept] + tuple(s + b + a for s, b, a in zip(x.shape[kept:], before, after, strict=True))
    if mirrors:
        x = contiguous(tape, x)
        if x.requires_grad:
            tape.save(x)
    last = channels_last(shape) if is_channels_last(x.shape, x.strides) else None
    return moved(tape, x, shape, name, Op.CONCAT, strides=last)


def rolled(tape: Tape, x: Tensor, name: str) -> Tensor:
    """Return ``x`` with its elements in other places of the same shape."""
    strides = preserved(x.shape, x.strides) if name == "flip" else None
    return moved(tape, x, x.shape, name, strides=strides)


def flattened(tape: Tape, x: Tensor) -> Tensor:
    """Return ``(*, K)`` in memory that a matrix product takes as ``(M, K)``: itself, or a copy."""
    matrix_rank = 2
    if len(x.shape) <= matrix_rank:
        return x  # a product reads any order of two dimensions
    free, _ = viewed(x.shape, x.strides, (prod(x.shape[:-1]), x.shape[-1]))
    return x if free else contiguous(tape, x)
