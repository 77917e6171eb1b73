"""Squeeze and excitation: channels weighted by what a small network makes of their means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from estimator.layers.activation import GELU, Hardsigmoid, ReLU, Sigmoid, SiLU
from estimator.layers.arguments import Positive
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.conv import Conv2d
from estimator.layers.functional.arithmetic import mul
from estimator.layers.functional.pointwise import fork
from estimator.layers.functional.reductions import mean
from estimator.layers.scopes import scope
from estimator.layers.shapes import images

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_ACTIVATIONS = {"relu": ReLU, "silu": SiLU, "gelu": GELU}
_GATES = {"sigmoid": Sigmoid, "hardsigmoid": Hardsigmoid}


@register("SqueezeExcitation", Example(((2, 8, 6, 6),), {"squeeze_channels": 4}))
@dataclass(frozen=True, slots=True, kw_only=True)
class SqueezeExcitation(Layer):
    """``(N, C, H, W) -> (N, C, H, W)``: mean, 1x1 convolution, activation, 1x1 convolution, gate, product.

    Hu et al., arXiv:1709.01507; torchvision names ``squeeze_channels``, others give the ``reduction`` of C.
    """

    squeeze_channels: Positive | None = None
    reduction: Positive | None = None
    activation: Literal["relu", "silu", "gelu"] = "relu"
    scale_activation: Literal["sigmoid", "hardsigmoid"] = "sigmoid"
    bias: bool = True
    input_channels: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Weight the channels."""
        (x,) = inputs
        _, channels, _ = images(x, 2, self.type_name)
        if self.input_channels not in (None, channels):
            raise LayerError(
                f"SqueezeExcitation.input_channels is {self.input_channels} but the input has {channels} "
                "channels",
                argument="input_channels",
            )
        fork(tape, x)
        gate = mean(tape, x, (len(x.shape) - 2, len(x.shape) - 1), keepdim=True)
        with scope(tape, "fc1"):
            narrow = Conv2d(out_channels=self._width(channels), kernel_size=1, bias=self.bias)
            gate = narrow.forward(tape, gate)
        gate = _ACTIVATIONS[self.activation]().forward(tape, gate)
        with scope(tape, "fc2"):
            wide = Conv2d(out_channels=channels, kernel_size=1, bias=self.bias)
            gate = wide.forward(tape, gate)
        return mul(tape, x, _GATES[self.scale_activation]().forward(tape, gate))

    def _width(self, channels: int) -> int:
        """Channels of the small network."""
        if (self.squeeze_channels is None) == (self.reduction is None):
            raise LayerError(
                "SqueezeExcitation needs either squeeze_channels or reduction", argument="squeeze_channels"
            )
        if self.reduction is not None:
            return max(1, channels // self.reduction)
        assert self.squeeze_channels is not None  # noqa: S101 - one of the two is given
        return self.squeeze_channels
