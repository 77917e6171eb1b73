"""Layers of several inputs, as one element-wise kernel, one product or one copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.arguments import Dim
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import arithmetic
from estimator.layers.functional.attention import is_flash
from estimator.layers.functional.movement import concat, select
from estimator.layers.functional.pointwise import cast, promote
from estimator.layers.functional.products import matmul
from estimator.layers.shapes import axis, check_outputs
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.layers.tape import Tape, Tensor

_PAIR = Example(((4, 8), (4, 8)))


def folded(
    layer: Layer, tape: Tape, inputs: tuple[Tensor, ...], function: Callable[[Tape, Tensor, Tensor], Tensor]
) -> Tensor:
    """Return the inputs combined two by two, from the left."""
    if len(inputs) < 2:  # noqa: PLR2004  one operand is no combination
        raise LayerError(f"{layer.type_name}: needs two or more inputs", hint="write from: [a, b]")
    result, *others = inputs
    for other in others:
        try:
            result = function(tape, result, other)
        except LayerError as error:
            raise LayerError(
                f"{layer.type_name}: shapes {list(result.shape)} and {list(other.shape)} do not match",
                hint=error.hint,
            ) from None
    return result


@register("Add", _PAIR)
class Add(Layer):
    """The sum of all inputs, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Add."""
        return folded(self, tape, inputs, arithmetic.add)


@register("Sub", _PAIR)
class Sub(Layer):
    """The first input less the others, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Subtract."""
        return folded(self, tape, inputs, arithmetic.sub)


@register("Mul", _PAIR)
class Mul(Layer):
    """The product of all inputs element by element, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply."""
        return folded(self, tape, inputs, arithmetic.mul)


@register("Div", _PAIR)
class Div(Layer):
    """The first input divided by the others, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Divide."""
        return folded(self, tape, inputs, arithmetic.div)


@register("Maximum", _PAIR)
class Maximum(Layer):
    """The largest of the inputs, element by element, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        return folded(self, tape, inputs, lambda t, a, b: arithmetic.extremum(t, a, b, "maximum"))


@register("Minimum", _PAIR)
class Minimum(Layer):
    """The smallest of the inputs, element by element, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        return folded(self, tape, inputs, lambda t, a, b: arithmetic.extremum(t, a, b, "minimum"))


@register("Where", Example(((4, 8), (4, 8), (4, 8))))
class Where(Layer):
    """The second input where the first holds, else the third, broadcast."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Select."""
        condition, a, b = inputs
        return arithmetic.where(tape, condition, a, b)


@register("MatMul", Example(((4, 6, 8), (4, 8, 5))))
class MatMul(Layer):
    """``(*, M, K), (*, K, N) -> (*, M, N)``; vectors and broadcasting as torch.matmul."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply."""
        a, b = inputs
        if not a.shape or not b.shape:
            raise LayerError("MatMul: a single number is no matrix")
        return matmul(tape, a, b)


def widened(tape: Tape, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the inputs in the widest of their formats where autocast casts them before it copies."""
    if not tape.policy.autocast:
        return inputs
    dtype = promote(*inputs)
    return tuple(cast(tape, x, dtype) for x in inputs)


@register("Concat", Example(((4, 8), (4, 6))))
@dataclass(frozen=True, slots=True, kw_only=True)
class Concat(Layer):
    """The inputs behind each other along ``dim``."""

    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy all inputs into one."""
        first = inputs[0]
        place = axis(self.dim, len(first.shape), "Concat")
        for other in inputs[1:]:
            rest = other.shape[:place] + other.shape[place + 1 :]
            if len(other.shape) != len(first.shape) or rest != first.shape[:place] + first.shape[place + 1 :]:
                raise LayerError(
                    f"Concat along {self.dim}: "
                    f"shapes {list(first.shape)} and {list(other.shape)} do not match"
                )
        if len(inputs) == 1:
            return first
        length = sum(x.shape[place] for x in inputs)
        shape = (*first.shape[:place], length, *first.shape[place + 1 :])
        inputs = widened(tape, inputs)
        return concat(tape, inputs, shape, promote(*inputs), "cat")


@register("Stack", _PAIR)
@dataclass(frozen=True, slots=True, kw_only=True)
class Stack(Layer):
    """The inputs, of equal shape, along a new dimension."""

    dim: Dim = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy all inputs into one."""
        first = inputs[0]
        for other in inputs[1:]:
            if other.shape != first.shape:
                raise LayerError(f"Stack: shapes {list(first.shape)} and {list(other.shape)} do not match")
        place = axis(self.dim, len(first.shape) + 1, "Stack")
        shape = (*first.shape[:place], len(inputs), *first.shape[place:])
        inputs = widened(tape, inputs)
        return concat(tape, inputs, shape, promote(*inputs), "stack")


@register("Unbind", Example(((4, 2, 8),), {"dim": 1}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Unbind(Layer):
    """One output for each index of a dimension; their gradients are stacked by one copy."""

    dim: Dim = 0

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Look at each index."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), "Unbind")
        check_outputs(x.shape[place])
        part = select(tape, x, place, zero_filled=False)
        if x.requires_grad:
            tape.emit(
                traffic(
                    "stack", Op.CONCAT, Phase.DGRAD, compute=x.dtype, read=x.bytes, written=x.bytes,
                    elements=x.numel, flops_per_element=0,
                )
            )  # fmt: skip
            if x.strides is not None and is_flash(tape, None):
                # Heads split by a permutation: the stacked gradients are brought back into the order of the
                # projection. After batched products the copies into head order do so.
                tape.emit(
                    traffic(
                        "contiguous_backward", Op.COPY, Phase.DGRAD, compute=x.dtype, read=x.bytes,
                        written=x.bytes, elements=x.numel, flops_per_element=0,
                    )
                )  # fmt: skip
        return (part,) * x.shape[place]
