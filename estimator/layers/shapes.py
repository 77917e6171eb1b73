"""Helpers that read shapes: images with or without a batch, one number for several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.layers.base import LayerError

if TYPE_CHECKING:
    from estimator.layers.tape import Tensor


MOST_OUTPUTS = 4096  # of one layer


def images(x: Tensor, dims: int, what: str) -> tuple[int, int, tuple[int, ...]]:
    """Return ``(n, channels, size)`` of an input with ``dims`` spatial dimensions; n is 1 without a batch."""
    if len(x.shape) == dims + 2:
        return x.shape[0], x.shape[1], x.shape[2:]
    if len(x.shape) == dims + 1:
        return 1, x.shape[0], x.shape[1:]
    names = ("L", "H, W", "D, H, W")[dims - 1]
    raise LayerError(f"{what}: needs an input (batch, channels, {names}), got {list(x.shape)}")


def spread(value: int | tuple[int, ...] | str, dims: int, argument: str) -> tuple[int, ...]:
    """Return one number for each dimension."""
    if isinstance(value, int):
        return (value,) * dims
    if isinstance(value, str) or len(value) != dims:
        raise LayerError(f"{argument} needs one number or {dims}, got {value}", argument=argument)
    return value


def axis(dim: int, rank: int, what: str, argument: str = "dim") -> int:
    """Return a dimension counted from the front."""
    if not -rank <= dim < rank:
        raise LayerError(f"{what}: an input of {rank} dimensions has no dimension {dim}", argument=argument)
    return dim % rank


def check_outputs(count: int) -> None:
    """Refuse a layer that would have more outputs than any network means."""
    if count > MOST_OUTPUTS:
        raise LayerError(f"{count:,} outputs are too many", hint=f"at most {MOST_OUTPUTS:,}")
