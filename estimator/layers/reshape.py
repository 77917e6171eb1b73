"""Layers that change a shape or an order; most are views and cost nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.arguments import Dim, SignedSizes, Sizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import movement
from estimator.layers.shapes import axis

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def filled(shape: tuple[int, ...], count: int, layer: Layer, argument: str) -> tuple[int, ...]:
    """Return ``shape`` with its one -1 replaced so that it holds ``count`` elements."""
    unknown = shape.count(-1)
    known = prod(size for size in shape if size != -1)
    if unknown > 1 or any(size < -1 for size in shape):
        raise LayerError(f"{layer.type_name}.{argument}: at most one size can be -1", argument=argument)
    if (unknown and (not known or count % known)) or (not unknown and known != count):
        raise LayerError(
            f"{layer.type_name}: {count:,} elements do not fit the shape {list(shape)}", argument=argument
        )
    return tuple(count // known if size == -1 else size for size in shape)


@register("Flatten", Example(((4, 8, 6, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten(Layer):
    """``(N, *) -> (N, product)``; from ``start_dim`` to ``end_dim``."""

    start_dim: Dim = 1
    end_dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Join dimensions."""
        (x,) = inputs
        rank = len(x.shape)
        first = axis(self.start_dim, rank, "Flatten", "start_dim") if rank > 1 else 0
        last = axis(self.end_dim, rank, "Flatten", "end_dim")
        if last < first:
            raise LayerError("Flatten: end_dim lies before start_dim", argument="end_dim")
        shape = (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
        return movement.reshape(tape, x, shape)


@register("Unflatten", Example(((4, 8, 6),), {"dim": 1, "unflattened_size": (2, -1)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Unflatten(Layer):
    """One dimension split into several."""

    dim: Dim
    unflattened_size: SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Split the dimension."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Unflatten")
        sizes = filled(self.unflattened_size, x.shape[place], self, "unflattened_size")
        return movement.reshape(tape, x, (*x.shape[:place], *sizes, *x.shape[place + 1 :]))


@register("Reshape", Example(((4, 8, 6),), {"shape": (-1, 3)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Reshape(Layer):
    """The dimensions from ``start_dim`` on (all but the batch) get a new shape; one size may be -1."""

    shape: SignedSizes
    start_dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the elements in another shape; copy them where their order in memory forbids it."""
        (x,) = inputs
        first = axis(self.start_dim, len(x.shape), "Reshape", "start_dim") if self.start_dim else 0
        shape = filled(self.shape, prod(x.shape[first:]), self, "shape")
        return movement.reshape(tape, x, (*x.shape[:first], *shape))


@register("Permute", Example(((4, 8, 6, 5),), {"dims": (0, 2, 3, 1)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Permute(Layer):
    """The dimensions in another order, the batch (0) included."""

    dims: SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the elements in another order."""
        (x,) = inputs
        rank = len(x.shape)
        dims = tuple(axis(dim, rank, "Permute", "dims") for dim in self.dims)
        if sorted(dims) != list(range(rank)):
            raise LayerError(
                f"Permute.dims {list(self.dims)} must name each dimension of {list(x.shape)} once",
                argument="dims",
            )
        return movement.permute(tape, x, dims)


@register("Transpose", Example(((4, 8, 6),), {"dim0": 1, "dim1": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose(Layer):
    """Two dimensions swapped."""

    dim0: Dim
    dim1: Dim

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the elements in another order."""
        (x,) = inputs
        rank = len(x.shape)
        first, second = axis(self.dim0, rank, "Transpose", "dim0"), axis(self.dim1, rank, "Transpose", "dim1")
        return movement.transpose(tape, x, first, second)


@register("Contiguous", Example(((4, 8, 6),)))
class Contiguous(Layer):
    """The elements in the order of the shape: a copy where they are not."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy if needed."""
        (x,) = inputs
        return movement.contiguous(tape, x)


@register("Squeeze", Example(((4, 1, 8),), {"dim": 1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Squeeze(Layer):
    """Without the dimension ``dim`` if its size is 1, or without all such dimensions but the batch."""

    dim: Dim | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Leave dimensions out."""
        (x,) = inputs
        gone = range(1, len(x.shape)) if self.dim is None else (axis(self.dim, len(x.shape), "Squeeze"),)
        shape = tuple(size for d, size in enumerate(x.shape) if size != 1 or d not in gone)
        return movement.reshape(tape, x, shape)


@register("Unsqueeze", Example(((4, 8),), {"dim": 1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Unsqueeze(Layer):
    """With a new dimension of size 1."""

    dim: Dim

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Add the dimension."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape) + 1, "Unsqueeze")
        return movement.reshape(tape, x, (*x.shape[:place], 1, *x.shape[place:]))


@register("Expand", Example(((4, 1, 6),), {"shape": (8, -1)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Expand(Layer):
    """Dimensions of size 1 (but not the batch) repeated to ``shape`` without a copy; -1 keeps a size."""

    shape: SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the elements repeatedly."""
        (x,) = inputs
        old = x.shape[1:]
        if len(self.shape) != len(old) or any(
            new not in (-1, size) and size != 1 for new, size in zip(self.shape, old, strict=False)
        ):
            raise LayerError(
                f"Expand: {list(old)} (without the batch) does not expand to {list(self.shape)}",
                argument="shape",
            )
        sizes = tuple(size if new == -1 else new for new, size in zip(self.shape, old, strict=True))
        return movement.expand(tape, x, (x.shape[0], *sizes))


@register("Repeat", Example(((4, 3, 6),), {"repeats": (2, 1)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Layer):
    """Copies behind each other, as many along each dimension but the batch."""

    repeats: Sizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy."""
        (x,) = inputs
        if len(self.repeats) != len(x.shape) - 1:
            raise LayerError(
                f"Repeat: {list(self.repeats)} does not match {list(x.shape[1:])} (without the batch)",
                argument="repeats",
            )
        sizes = tuple(size * times for size, times in zip(x.shape[1:], self.repeats, strict=True))
        return movement.repeat(tape, x, (x.shape[0], *sizes))


@register("Roll", Example(((4, 8, 6),), {"shifts": (1,), "dims": (1,)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Roll(Layer):
    """The elements moved along dimensions, those that leave come in on the other side."""

    shifts: SignedSizes
    dims: SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy to other places."""
        (x,) = inputs
        if len(self.shifts) != len(self.dims):
            raise LayerError("Roll: needs as many shifts as dims", argument="shifts")
        for dim in self.dims:
            axis(dim, len(x.shape), "Roll", "dims")
        return movement.rolled(tape, x, "roll")


@register("Flip", Example(((4, 8, 6),), {"dims": (1,)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Flip(Layer):
    """The elements in reverse order along dimensions."""

    dims: SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy to other places."""
        (x,) = inputs
        for dim in self.dims:
            axis(dim, len(x.shape), "Flip", "dims")
        return movement.rolled(tape, x, "flip")
