"""Layers that reduce dimensions or pick entries: Mean, Sum, Normalize, ArgMax, Cumsum, Gather."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import Dim, Positive, PositiveFloat, SignedSizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import reductions
from estimator.layers.functional.arithmetic import apply, clamp, div
from estimator.layers.functional.indexing import indexed
from estimator.layers.functional.pointwise import fork
from estimator.layers.shapes import axis
from estimator.precision import DType

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLE = Example(((4, 8, 6),), {"dim": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction(Layer):
    """``dim``, one or several, is reduced away (or to 1); without it all dimensions but the batch."""

    function: ClassVar[str]

    dim: Dim | SignedSizes | None = None
    keepdim: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Reduce."""
        (x,) = inputs
        dims = chosen(self, x)
        if self.function == "mean":
            return reductions.mean(tape, x, dims, keepdim=self.keepdim)
        if self.function == "sum":
            return reductions.total(tape, x, dims, keepdim=self.keepdim)
        if self.function == "norm":
            return reductions.vector_norm(tape, x, dims, keepdim=self.keepdim)
        if self.function == "var":
            return reductions.variance(tape, x, dims, keepdim=self.keepdim)
        if self.function.startswith("arg"):
            return reductions.arg_extreme(tape, x, dims, self.function, keepdim=self.keepdim)
        return reductions.extreme(tape, x, dims, self.function, keepdim=self.keepdim)


def chosen(layer: Reduction, x: Tensor) -> tuple[int, ...]:
    """Return the dimensions to reduce, counted from the front."""
    rank = len(x.shape)
    if layer.dim is None:
        return tuple(range(1, rank))
    dims = (layer.dim,) if isinstance(layer.dim, int) else layer.dim
    return tuple(sorted({axis(dim, rank, layer.type_name) for dim in dims}))


@register("Mean", _EXAMPLE)
class Mean(Reduction):
    """The mean along dimensions."""

    function = "mean"


@register("Sum", _EXAMPLE)
class Sum(Reduction):
    """The sum along dimensions."""

    function = "sum"


@register("Max", _EXAMPLE)
class Max(Reduction):
    """The largest value along dimensions."""

    function = "amax"


@register("Min", _EXAMPLE)
class Min(Reduction):
    """The smallest value along dimensions."""

    function = "amin"


@register("Norm", _EXAMPLE)
class Norm(Reduction):
    """The Euclidean norm along dimensions."""

    function = "norm"


@register("Var", _EXAMPLE)
class Var(Reduction):
    """The variance along dimensions."""

    function = "var"


@register("ArgMax", _EXAMPLE)
class ArgMax(Reduction):
    """The index of the largest value; no gradient flows."""

    function = "argmax"


@register("ArgMin", _EXAMPLE)
class ArgMin(Reduction):
    """The index of the smallest value; no gradient flows."""

    function = "argmin"


@register("Normalize", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(Layer):
    """The input divided by its norm along a dimension (torch.nn.functional.normalize)."""

    p: PositiveFloat = 2.0
    dim: Dim = 1
    eps: PositiveFloat = 1e-12

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Take the norm, bound it, divide."""
        (x,) = inputs
        dims = (axis(self.dim, len(x.shape), "Normalize"),)
        fork(tape, x)
        return div(tape, x, clamp(tape, reductions.vector_norm(tape, x, dims, keepdim=True)))


@register("Std", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Std(Layer):
    """The standard deviation along dimensions."""

    dim: Dim | SignedSizes | None = None
    keepdim: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Take the root of the variance."""
        variance = Var(dim=self.dim, keepdim=self.keepdim).forward(tape, *inputs)
        return apply(tape, variance, "sqrt")


@register("Cumsum", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Cumsum(Layer):
    """Running sums along a dimension."""

    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Sum."""
        (x,) = inputs
        axis(self.dim, len(x.shape), "Cumsum")
        return reductions.cumulative_sum(tape, x)


@register("Gather", Example(((4, 8, 6), (4, 3, 6)), {"dim": 1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Gather(Layer):
    """Entries of the first input along ``dim`` by the second, which has the output's shape."""

    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look the entries up."""
        x, index = inputs
        if len(index.shape) != len(x.shape):
            raise LayerError(
                f"Gather: the index {list(index.shape)} needs as many dimensions as {list(x.shape)}"
            )
        axis(self.dim, len(x.shape), "Gather")
        if x.requires_grad:
            tape.save(x)
        return indexed(tape, x, index, index.shape, "gather")


@register("IndexSelect", Example(((4, 8, 6),), {"dim": 1, "count": 5}))
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSelect(Layer):
    """``count`` indices of a dimension, in any order; or those that a second input lists."""

    dim: Dim = 1
    count: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look the entries up."""
        x, *others = inputs
        place = axis(self.dim, len(x.shape), "IndexSelect")
        if others:
            (index,) = others
        elif self.count is None:
            raise LayerError("IndexSelect: needs count, or the indices as a second input", argument="count")
        else:
            index = tape.new((self.count,), DType.INT64, requires_grad=False)
        shape = (*x.shape[:place], index.numel, *x.shape[place + 1 :])
        return indexed(tape, x, index, shape, "index_select")
