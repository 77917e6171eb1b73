"""General element-wise layers, as the functions of the torch namespace: Exp, Pow, Clamp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import AnyFloat
from estimator.layers.base import Example, Layer, register
from estimator.layers.functional.arithmetic import apply, clamp, power

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLE = Example(((4, 8),))


class Pointwise(Layer):
    """A function of each element; ``(*) -> (*)``."""

    function: ClassVar[str]

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Apply the function."""
        (x,) = inputs
        return apply(tape, x, self.function)


@register("Exp", _EXAMPLE)
class Exp(Pointwise):
    """e to the input."""

    function = "exp"


@register("Log", _EXAMPLE)
class Log(Pointwise):
    """The natural logarithm."""

    function = "log"


@register("Sqrt", _EXAMPLE)
class Sqrt(Pointwise):
    """The square root."""

    function = "sqrt"


@register("Rsqrt", _EXAMPLE)
class Rsqrt(Pointwise):
    """1 over the square root."""

    function = "rsqrt"


@register("Reciprocal", _EXAMPLE)
class Reciprocal(Pointwise):
    """1 over the input."""

    function = "reciprocal"


@register("Square", _EXAMPLE)
class Square(Pointwise):
    """The input times itself."""

    function = "pow"


@register("Neg", _EXAMPLE)
class Neg(Pointwise):
    """The input with the other sign."""

    function = "neg"


@register("Abs", _EXAMPLE)
class Abs(Pointwise):
    """The input without its sign."""

    function = "abs"


@register("Sin", _EXAMPLE)
class Sin(Pointwise):
    """The sine."""

    function = "sin"


@register("Cos", _EXAMPLE)
class Cos(Pointwise):
    """The cosine."""

    function = "cos"


@register("Erf", _EXAMPLE)
class Erf(Pointwise):
    """The error function."""

    function = "erf"


@register("Sign", _EXAMPLE)
class Sign(Pointwise):
    """-1, 0 or 1; its gradient is zeros."""

    function = "sign"


@register("Floor", _EXAMPLE)
class Floor(Pointwise):
    """The next whole number below; its gradient is zeros."""

    function = "floor"


@register("Round", _EXAMPLE)
class Round(Pointwise):
    """The nearest whole number; its gradient is zeros."""

    function = "round"


@register("Pow", Example(((4, 8),), {"exponent": 3}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Pow(Layer):
    """The input to a fixed power."""

    exponent: AnyFloat

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Raise."""
        (x,) = inputs
        return power(tape, x, self.exponent)


@register("Clamp", Example(((4, 8),), {"min": 0, "max": 1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Clamp(Layer):
    """The input between bounds."""

    min: AnyFloat | None = None
    max: AnyFloat | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Bound."""
        (x,) = inputs
        return clamp(tape, x)


@register("AddScalar", _EXAMPLE)
@dataclass(frozen=True, slots=True, kw_only=True)
class AddScalar(Layer):
    """X + 1, or another number."""

    value: AnyFloat = 1.0

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Add."""
        (x,) = inputs
        return apply(tape, x, "add_scalar")


@register("MulScalar", Example(((4, 8),), {"value": 0.5}))
@dataclass(frozen=True, slots=True, kw_only=True)
class MulScalar(Layer):
    """The input times a number."""

    value: AnyFloat

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply."""
        (x,) = inputs
        return apply(tape, x, "mul_scalar")
