"""Layers that pick parts of a dimension, as views: Slice, Select, Chunk, Split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from estimator.layers.arguments import Dim, Positive, Range, Sizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import movement
from estimator.layers.shapes import axis, check_outputs

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("Slice", Example(((4, 8, 6),), {"dim": 1, "start": 2, "stop": 6}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Layer):
    """The indices from ``start`` up to ``stop`` of one dimension; negative ones count from the end."""

    dim: Dim = 1
    start: Annotated[int, Range(-(2**31))] = 0
    stop: Annotated[int, Range(-(2**31))] | None = None
    step: Positive = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the part."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Slice")
        length = len(range(*slice(self.start, self.stop, self.step).indices(x.shape[place])))
        if not length:
            raise LayerError(
                f"Slice: nothing is left of dimension {self.dim} of {list(x.shape)}", argument="stop"
            )
        return movement.narrow(tape, x, place, length, self.step)


@register("Select", Example(((4, 8, 6),), {"dim": 1, "index": 0}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Layer):
    """One index of a dimension, which goes away."""

    dim: Dim = 1
    index: Annotated[int, Range(-(2**31))]

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the part."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Select")
        if not -x.shape[place] <= self.index < x.shape[place]:
            raise LayerError(
                f"Select: dimension {self.dim} of {list(x.shape)} has no index {self.index}", argument="index"
            )
        return movement.select(tape, x, place)


@register("Chunk", Example(((4, 8, 6),), {"chunks": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(Layer):
    """As many equal parts of a dimension, each an output; the last may be smaller."""

    chunks: Positive
    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Look at the parts."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Chunk")
        size = -(-x.shape[place] // self.chunks)
        return movement.split(tape, x, place, parts(x.shape[place], size))


def parts(length: int, size: int) -> tuple[int, ...]:
    """Return ``length`` in pieces of ``size``, the last one smaller if need be."""
    check_outputs(length // size)
    rest = length % size
    return (size,) * (length // size) + ((rest,) if rest else ())


@register("Split", Example(((4, 8, 6),), {"split_size": (2, 6)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Layer):
    """Parts of a dimension of one size, or of the sizes listed, each an output."""

    split_size: Positive | Sizes
    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Look at the parts."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Split")
        length = x.shape[place]
        sizes = self.split_size if isinstance(self.split_size, tuple) else parts(length, self.split_size)
        if sum(sizes) != length:
            raise LayerError(
                f"Split: sizes {list(sizes)} do not add up to dimension {self.dim} of {list(x.shape)}",
                argument="split_size",
            )
        return movement.split(tape, x, place, sizes)
