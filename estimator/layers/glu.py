"""Gated linear units: one half of a dimension, or one input, times an activation of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import Dim
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.activations import gated, glu
from estimator.layers.shapes import axis

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("GLU", Example(((4, 6, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class GLU(Layer):
    """The first half of a dimension times the sigmoid of the second."""

    dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Gate one half by the other, in one kernel."""
        (x,) = inputs
        return glu(tape, x, halved(self, x, self.dim))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(Layer):
    """An activation of one half of a dimension times the other half; or of one input times a second."""

    gate: ClassVar[str]
    activates_first: ClassVar[bool] = True

    dim: Dim = -1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Gate; a kernel for the activation and one for the product unless the software fuses them."""
        x, *others = inputs
        if not others:
            return gated(tape, x, halved(self, x, self.dim), self.gate, activates_first=self.activates_first)
        (other,) = others
        if other.shape != x.shape:
            raise LayerError(f"{self.type_name}: shapes {list(x.shape)} and {list(other.shape)} do not match")
        return gated(tape, x, None, self.gate, other=other)


@register("SwiGLU", Example(((4, 6, 8),)))
class SwiGLU(Gated):
    """silu(a) * b: a and b are the halves of the input, or two inputs."""

    gate = "silu"


@register("GEGLU", Example(((4, 6, 8),)))
class GEGLU(Gated):
    """a * gelu(b): a and b are the halves of the input; of two inputs the first is the gate."""

    gate = "gelu"
    activates_first = False


@register("ReGLU", Example(((4, 6, 8),)))
class ReGLU(Gated):
    """a * relu(b): a and b are the halves of the input; of two inputs the first is the gate."""

    gate = "relu"
    activates_first = False


def halved(layer: Layer, x: Tensor, dim: int) -> int:
    """Return the dimension that a gated layer halves, or raise LayerError where its size is odd."""
    place = axis(dim, len(x.shape), layer.type_name)
    if x.shape[place] % 2:
        raise LayerError(
            f"{layer.type_name}: dimension {dim} of {list(x.shape)} does not divide by 2", argument="dim"
        )
    return place
