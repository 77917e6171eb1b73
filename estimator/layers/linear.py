"""Fully connected layers: Linear and Bilinear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.arguments import Positive
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.bilinear import bilinear
from estimator.layers.functional.products import linear

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("Linear", Example(((4, 16),), {"out_features": 8}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Linear(Layer):
    """``(*, in_features) -> (*, out_features)``."""

    out_features: Positive
    in_features: Positive | None = None
    bias: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply by the weight."""
        (x,) = inputs
        features = x.shape[-1]
        if self.in_features not in (None, features):
            raise LayerError(
                f"Linear.in_features is {self.in_features} but the input has {features} features",
                argument="in_features",
            )
        weight = tape.weight("weight", (self.out_features, features))
        bias = tape.weight("bias", (self.out_features,)) if self.bias else None
        return linear(tape, x, weight, bias)


@register("Bilinear", Example(((4, 6), (4, 5)), {"out_features": 8}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Bilinear(Layer):
    """``(*, in1_features), (*, in2_features) -> (*, out_features)``."""

    out_features: Positive
    in1_features: Positive | None = None
    in2_features: Positive | None = None
    bias: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply both inputs into the weight."""
        x, y = inputs
        for name, given, features in (
            ("in1_features", self.in1_features, x.shape[-1]),
            ("in2_features", self.in2_features, y.shape[-1]),
        ):
            if given not in (None, features):
                raise LayerError(
                    f"Bilinear.{name} is {given} but the input has {features} features", argument=name
                )
        if x.shape[:-1] != y.shape[:-1]:
            raise LayerError(f"Bilinear: shapes {list(x.shape)} and {list(y.shape)} do not match")
        weight = tape.weight("weight", (self.out_features, x.shape[-1], y.shape[-1]))
        bias = tape.weight("bias", (self.out_features,)) if self.bias else None
        return bilinear(tape, x, y, weight, bias)
