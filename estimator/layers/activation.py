"""Activation layers: the element-wise functions of torch.nn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import AnyFloat, Positive, PositiveFloat
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.activations import (
    gelu_new,
    prelu,
    quick_gelu,
    tanh_shrink,
)
from estimator.layers.functional.arithmetic import softsign
from estimator.layers.functional.pointwise import full_precision, unary, unary_in_place

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLE = Example(((4, 8, 6, 6),))


class Activation(Layer):
    """A function of each element in one kernel each way; ``(*) -> (*)``.

    ``keeps`` is what the backward reads.
    """

    function: ClassVar[str]
    keeps: ClassVar[str] = "input"
    flops: ClassVar[int] = 1
    fp32: ClassVar[bool] = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        if self.fp32:
            x = full_precision(tape, x)
        return unary(tape, x, self.function, saves=self.keeps, flops_per_element=self.flops)


@dataclass(frozen=True, slots=True, kw_only=True)
class MayOverwrite(Activation):
    """An activation that can write its output over its input.

    ``keeps_in_place`` is what the backward reads then: where that is the input still, autograd clones it.
    """

    keeps_in_place: ClassVar[str] = "input"

    inplace: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function, in place where asked."""
        if not self.inplace:
            return super(MayOverwrite, self).forward(tape, *inputs)
        (x,) = inputs
        return unary_in_place(tape, x, self.function, keeps=self.keeps_in_place, flops_per_element=self.flops)


@register("ReLU", _EXAMPLE)
class ReLU(MayOverwrite):
    """max(0, x)."""

    function = "relu"
    keeps = "output"
    keeps_in_place = "output"


@register("ReLU6", _EXAMPLE)
class ReLU6(MayOverwrite):
    """min(max(0, x), 6)."""

    function = "hardtanh"


@register("Hardtanh", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Hardtanh(MayOverwrite):
    """The input between two bounds."""

    function = "hardtanh"

    min_val: AnyFloat = -1.0
    max_val: AnyFloat = 1.0


@register("LeakyReLU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class LeakyReLU(MayOverwrite):
    """The input where positive, a small multiple elsewhere."""

    function = "leaky_relu"
    keeps_in_place = "output"

    negative_slope: AnyFloat = 0.01


@register("RReLU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class RReLU(MayOverwrite):
    """The input where positive, a multiple elsewhere that training draws anew and keeps."""

    function = "rrelu"
    keeps_in_place = "output"

    lower: AnyFloat = 1 / 8
    upper: AnyFloat = 1 / 3

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function; the multiples have the size of the input."""
        (x,) = inputs
        if x.requires_grad:
            tape.save_bytes(x.bytes)
        return super(RReLU, self).forward(tape, x)


@register("Threshold", Example(_EXAMPLE.shapes, {"threshold": 0.1, "value": 0.0}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(MayOverwrite):
    """The input above a threshold, a constant elsewhere."""

    function = "threshold"

    threshold: AnyFloat
    value: AnyFloat


@register("ELU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class ELU(MayOverwrite):
    """The input where positive, alpha (exp(x) - 1) elsewhere."""

    function = "elu"
    keeps_in_place = "output"
    flops = 3

    alpha: AnyFloat = 1.0


@register("CELU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class CELU(MayOverwrite):
    """A continuously differentiable ELU."""

    function = "elu"
    keeps_in_place = "output"
    flops = 3

    alpha: AnyFloat = 1.0


@register("SELU", _EXAMPLE)
class SELU(MayOverwrite):
    """A self-normalising, scaled ELU."""

    function = "elu"
    keeps_in_place = "output"
    flops = 4


@register("SiLU", _EXAMPLE)
class SiLU(MayOverwrite):
    """x sigmoid(x), also called swish."""

    function = "silu"
    flops = 4


@register("Mish", _EXAMPLE)
class Mish(MayOverwrite):
    """x tanh(softplus(x))."""

    function = "mish"
    flops = 5


@register("Hardswish", _EXAMPLE)
class Hardswish(MayOverwrite):
    """x relu6(x + 3) / 6."""

    function = "hardswish"
    flops = 4


@register("Hardsigmoid", _EXAMPLE)
class Hardsigmoid(MayOverwrite):
    """relu6(x + 3) / 6."""

    function = "hardsigmoid"
    flops = 3


@register("Sigmoid", _EXAMPLE)
class Sigmoid(Activation):
    """1 / (1 + exp(-x))."""

    function = "sigmoid"
    keeps = "output"
    flops = 3


@register("Tanh", _EXAMPLE)
class Tanh(Activation):
    """The hyperbolic tangent."""

    function = "tanh"
    keeps = "output"
    flops = 3


@register("LogSigmoid", _EXAMPLE)
class LogSigmoid(Activation):
    """log(sigmoid(x)); GPUs keep the input alone, CPUs a buffer beside it."""

    function = "log_sigmoid"
    flops = 4


@register("Softplus", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Softplus(Activation):
    """log(1 + exp(beta x)) / beta."""

    function = "softplus"
    flops = 4
    fp32 = True

    beta: PositiveFloat = 1.0
    threshold: AnyFloat = 20.0


@register("Softshrink", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Softshrink(Activation):
    """The input moved towards 0 by lambda, 0 in between."""

    function = "softshrink"

    lambd: AnyFloat = 0.5


@register("Hardshrink", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class Hardshrink(Activation):
    """The input, with small values set to 0."""

    function = "hardshrink"

    lambd: AnyFloat = 0.5


@register("Softsign", _EXAMPLE)
class Softsign(Layer):
    """x / (1 + |x|)."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run three kernels: frameworks have no fused one."""
        (x,) = inputs
        return softsign(tape, x)


@register("Tanhshrink", _EXAMPLE)
class Tanhshrink(Layer):
    """x - tanh(x)."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run two kernels: frameworks have no fused one."""
        (x,) = inputs
        return tanh_shrink(tape, x)


@register("GELU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class GELU(Layer):
    """x times the normal distribution's share below x.

    "none" and "tanh" are one kernel; "new" (GPT-2's code) and "quick" (CLIP's) are written out of
    element-wise functions, each a kernel unless the software fuses them.
    """

    approximate: Literal["none", "tanh", "new", "quick"] = "none"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        if self.approximate == "new":
            return gelu_new(tape, x)
        if self.approximate == "quick":
            return quick_gelu(tape, x)
        return unary(tape, x, "gelu", flops_per_element=8)


@register("PReLU", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class PReLU(Layer):
    """The input where positive, a learned multiple elsewhere; one for all channels or one each."""

    num_parameters: Positive = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        channels = x.shape[1] if len(x.shape) > 1 else 1
        if self.num_parameters not in (1, channels):
            raise LayerError(
                f"PReLU.num_parameters is {self.num_parameters} but the input has {channels} channels",
                argument="num_parameters",
            )
        return prelu(tape, x, tape.weight("weight", (self.num_parameters,)))
