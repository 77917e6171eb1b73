"""Softmax and its relatives: layers that normalise along one dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.arguments import Dim
from estimator.layers.base import Example, Layer, register
from estimator.layers.functional.arithmetic import apply
from estimator.layers.functional.reductions import softmax
from estimator.layers.shapes import axis

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("Softmax", Example(((4, 8, 6),), {"dim": -1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Softmax(Layer):
    """exp(x) over its sum along one dimension."""

    dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        axis(self.dim, len(x.shape), self.type_name)
        return softmax(tape, x)


@register("Softmin", Example(((4, 8, 6),), {"dim": -1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Softmin(Layer):
    """Softmax of the negated input."""

    dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Negate and apply softmax."""
        (x,) = inputs
        axis(self.dim, len(x.shape), self.type_name)
        return softmax(tape, apply(tape, x, "neg"))


@register("LogSoftmax", Example(((4, 8, 6),), {"dim": -1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class LogSoftmax(Layer):
    """The logarithm of softmax along one dimension."""

    dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        axis(self.dim, len(x.shape), self.type_name)
        return softmax(tape, x, "log_softmax")


@register("Softmax2d", Example(((4, 8, 6, 6),)))
class Softmax2d(Layer):
    """Softmax over the channels of an image."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        return softmax(tape, x)
