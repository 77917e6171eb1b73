"""Arithmetic on tensors: sums, products, quotients, powers, and the functions built from a few of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.functional.pointwise import (
    binary,
    combined,
    each_element,
    fork,
    full_precision,
    operand_gradient,
    pointwise,
    unary,
)
from estimator.precision import DType
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one operand: what its backward keeps, and how many tensors each of its kernels reads.

    ``fp32`` marks those that autocast runs in full precision.
    """

    saves: str = "input"
    backward: tuple[int, ...] = (2,)
    fp32: bool = False


# As PyTorch differentiates them (tools/autograd/derivatives.yaml).
FUNCTIONS = {
    "exp": Function("output", (2,), fp32=True),
    "expm1": Function("output", (1, 2), fp32=True),
    "log": Function("input", (2,), fp32=True),
    "log1p": Function("input", (1, 2), fp32=True),
    "log2": Function("input", (1, 2), fp32=True),
    "sqrt": Function("output", (1, 2)),
    "rsqrt": Function("output", (1, 1, 2), fp32=True),
    "reciprocal": Function("output", (2, 1, 2), fp32=True),
    "pow": Function("input", (1, 1, 2), fp32=True),
    "abs": Function("input", (1, 2)),
    "sin": Function("input", (1, 2)),
    "cos": Function("input", (1, 1, 2)),
    "atan": Function("input", (2, 1, 2)),
    "erf": Function("input", (1, 1, 1, 1, 2)),
    "neg": Function("none", (1,)),
    "mul_scalar": Function("none", (1,)),
    "add_scalar": Function("none", ()),
    "sign": Function("none", (0,)),
    "floor": Function("none", (0,)),
    "ceil": Function("none", (0,)),
    "round": Function("none", (0,)),
}


def apply(tape: Tape, x: Tensor, name: str) -> Tensor:
    """Return one of ``FUNCTIONS`` of ``x``."""
    function = FUNCTIONS[name]
    if function.fp32:
        x = full_precision(tape, x)
    return unary(tape, x, name, saves=function.saves, backward=function.backward)


def power(tape: Tape, x: Tensor, exponent: float) -> Tensor:
    """Return ``x`` to a fixed power."""
    return apply(tape, x, "pow") if exponent != 1 else apply(tape, x, "mul_scalar")


def rsqrt(tape: Tape, x: Tensor) -> Tensor:
    """Return 1 / sqrt(x)."""
    return apply(tape, x, "rsqrt")


def add_scalar(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` plus a number."""
    return apply(tape, x, "add_scalar")


def mul_scalar(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` times a number."""
    return apply(tape, x, "mul_scalar")


def clamp(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` bounded; the backward makes two masks, joins them and selects by the result."""
    out = unary(tape, x, "clamp", backward=())
    if x.requires_grad:
        mask = x.numel * DType.BOOL.itemsize
        for name, read, written in (
            ("ge", x.bytes, mask),
            ("le", x.bytes, mask),
            ("logical_and", 2 * mask, mask),
            ("where", x.bytes + mask, x.bytes),
        ):
            pointwise(tape, name, Phase.DGRAD, read=read, written=written, elements=x.numel, compute=x.dtype)
    return out


def add(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a + b``."""
    return binary(tape, a, b, "add")


def mul(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a * b``."""
    return binary(tape, a, b, "mul", saves=True)


def sub(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a - b``; the gradient of ``b`` is negated."""
    out = combined(tape, a, b, "sub")
    if a.requires_grad:
        operand_gradient(tape, a, out)
    if b.requires_grad:
        each_element(tape, out, "neg", Phase.DGRAD)
        operand_gradient(tape, b, out)
    return out


def div(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a / b``; the gradient of ``b`` is ``-g * (a / b) / b``, four kernels."""
    out = combined(tape, a, b, "div")
    if a.requires_grad:
        tape.save(b)
        pointwise(
            tape, "div_backward", Phase.DGRAD, read=out.bytes + b.bytes, written=out.bytes,
            elements=out.numel, compute=out.dtype,
        )  # fmt: skip
        operand_gradient(tape, a, out)
    if b.requires_grad:
        tape.save(a)
        tape.save(b)
        divisor = b.numel * out.dtype.itemsize
        for name, read in (
            ("div", a.bytes + b.bytes),
            ("div", out.bytes + divisor),
            ("neg", out.bytes),
            ("mul", 2 * out.bytes),
        ):
            pointwise(
                tape, f"{name}_backward", Phase.DGRAD, read=read, written=out.bytes, elements=out.numel,
                compute=out.dtype,
            )  # fmt: skip
        operand_gradient(tape, b, out)
    return out


def extremum(tape: Tape, a: Tensor, b: Tensor, name: str) -> Tensor:
    """Return the larger or smaller of ``a`` and ``b``; ties halve the gradient, so it takes five kernels."""
    out = combined(tape, a, b, name)
    for operand in (a, b):
        if not operand.requires_grad:
            continue
        tape.save(a)
        tape.save(b)
        both, mask = a.bytes + b.bytes, out.numel * DType.BOOL.itemsize
        for step, read, written in (
            ("div", out.bytes, out.bytes),
            ("eq", both, mask),
            ("where", 2 * out.bytes + mask, out.bytes),
            ("compare", both, mask),
            ("masked_fill", out.bytes + mask, out.bytes),
        ):
            pointwise(
                tape, f"{step}_backward", Phase.DGRAD, read=read, written=written, elements=out.numel,
                compute=out.dtype,
            )  # fmt: skip
        operand_gradient(tape, operand, out)
    return out


def where(tape: Tape, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where the condition holds, else ``b``; the condition is kept."""
    out = combined(tape, a, b, "where", also_reads=condition.bytes)
    pending = [operand for operand in (a, b) if operand.requires_grad]
    for operand in pending:
        tape.save(condition)
        pointwise(
            tape, "where_backward", Phase.DGRAD, read=out.bytes + condition.bytes, written=out.bytes,
            elements=out.numel, compute=out.dtype,
        )  # fmt: skip
        operand_gradient(tape, operand, out)
    return out


def softsign(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``, as three kernels."""
    x = fork(tape, x)
    return div(tape, x, add_scalar(tape, apply(tape, x, "abs")))
