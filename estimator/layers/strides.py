"""Strides: how a tensor's elements follow each other in memory, by PyTorch's rules.

Strides decide what is a free view and what needs a copy: reshaping after a permutation, flattening a
channels-last image. ``None`` stands for the order of the shape itself (contiguous), by far the usual case.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape: TypeAlias = tuple[int, ...]
Strides: TypeAlias = tuple[int, ...]

_IMAGE_RANKS = frozenset({4, 5})  # the ranks for which frameworks have a channels-last format


def contiguous(shape: Shape) -> Strides:
    """Return the strides of the shape's own order."""
    return _in_order(shape, range(len(shape)))


def channels_last(shape: Shape) -> Strides | None:
    """Return the strides of an image ``(N, C, *size)`` stored with its channels last."""
    if len(shape) not in _IMAGE_RANKS:
        return None
    return simplified(shape, _in_order(shape, (0, *range(2, len(shape)), 1)))


def _in_order(shape: Shape, order: Sequence[int]) -> Strides:
    """Return dense strides when the dimensions lie in memory in ``order``, outermost first."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def simplified(shape: Shape, strides: Strides) -> Strides | None:
    """Return None where ``strides`` are the contiguous ones; dimensions of size 1 don't matter."""
    usual = contiguous(shape)
    same = all(a == b or size <= 1 for a, b, size in zip(strides, usual, shape, strict=True))
    return None if same or 0 in shape else strides


def explicit(shape: Shape, strides: Strides | None) -> Strides:
    """Return strides as numbers."""
    return contiguous(shape) if strides is None else strides


def is_channels_last(shape: Shape, strides: Strides | None) -> bool:
    """Tell whether an image lies channels-last (contiguous ones of one channel or pixel do not count)."""
    return strides is not None and strides == channels_last(shape)


def fits_channels_last(shape: Shape, strides: Strides | None) -> bool:
    """Tell whether a kernel for channels-last memory can take the tensor as it is."""
    return strides == channels_last(shape)


def preserved(shape: Shape, strides: Strides | None) -> Strides | None:
    """Return the strides of an element-wise result: dense, in the order in which the operand lies."""
    if strides is None:
        return None
    if any(stride == 0 and size > 1 for stride, size in zip(strides, shape, strict=True)):
        return None  # an expanded operand: the result is written out in full
    order = sorted(range(len(shape)), key=lambda dim: (-strides[dim], dim))
    return simplified(shape, _in_order(shape, order))


def permuted(shape: Shape, strides: Strides | None, dims: Sequence[int]) -> tuple[Shape, Strides | None]:
    """Return shape and strides after the dimensions are put in the order ``dims``."""
    steps = explicit(shape, strides)
    new_shape = tuple(shape[d] for d in dims)
    return new_shape, simplified(new_shape, tuple(steps[d] for d in dims))


def viewed(shape: Shape, strides: Strides | None, new_shape: Shape) -> tuple[bool, Strides | None]:
    """Tell whether ``new_shape`` can be a view of this memory, and with which strides.

    The rule is that of ``at::detail::computeStride`` (PyTorch, TensorUtils.cpp): dimensions that lie
    regularly behind each other form a block, and new dimensions must not cross blocks.
    """
    if strides is None or 0 in shape:
        return True, None
    new_strides = [0] * len(new_shape)
    new_dim = len(new_shape) - 1
    base, block = (strides[-1], 1) if shape else (1, 1)
    for dim in reversed(range(len(shape))):
        block *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == block * base):
            continue
        taken = 1
        while new_dim >= 0 and (taken < block or new_shape[new_dim] == 1):
            new_strides[new_dim] = taken * base
            taken *= new_shape[new_dim]
            new_dim -= 1
        if taken != block:
            return False, None
        if dim:
            base, block = strides[dim - 1], 1
    if new_dim >= 0 and prod(new_shape[: new_dim + 1]) != 1:
        return False, None
    return True, simplified(new_shape, tuple(new_strides))
