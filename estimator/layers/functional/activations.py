"""Activations of more than one kernel or operand: PReLU, gated units, GELUs written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.layers.functional.arithmetic import add, add_scalar, mul, mul_scalar, power, sub
from estimator.layers.functional.movement import split
from estimator.layers.functional.pointwise import cast, fork, pointwise, unary
from estimator.layers.strides import preserved
from estimator.software import Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_GELU_FLOPS = 8
_GATE_FLOPS = {"silu": 4, "gelu": _GELU_FLOPS, "relu": 1}


def fuses(tape: Tape) -> bool:
    """Tell whether the software has one kernel for a chain of element-wise functions."""
    return tape.setting.software.mode is not Mode.EAGER


def prelu(tape: Tape, x: Tensor, weight: Tensor) -> Tensor:
    """Return PReLU: its backward writes a weight gradient of the input's size, then sums it."""
    if tape.policy.autocast:
        x, weight = cast(tape, x, tape.policy.product), cast(tape, weight, tape.policy.product)
    grad = x.requires_grad or weight.requires_grad
    out = tape.new(x.shape, x.dtype, requires_grad=grad, strides=preserved(x.shape, x.strides))
    pointwise(
        tape, "prelu", Phase.FORWARD, read=x.bytes + weight.bytes, written=out.bytes, elements=x.numel,
        compute=x.dtype, flops_per_element=2,
    )  # fmt: skip
    if grad:
        tape.save(x)
        pointwise(
            tape, "prelu_backward", Phase.DGRAD if x.requires_grad else Phase.WGRAD,
            read=2 * x.bytes + weight.bytes, written=2 * x.bytes, elements=x.numel, compute=x.dtype,
            flops_per_element=2,
        )  # fmt: skip
    if weight.requires_grad:
        tape.emit(
            traffic(
                "prelu_wgrad", Op.REDUCTION, Phase.WGRAD, compute=x.dtype, read=x.bytes,
                written=weight.bytes, elements=x.numel,
            )
        )  # fmt: skip
    return out


def glu(tape: Tape, x: Tensor, dim: int) -> Tensor:
    """Return ``a * sigmoid(b)`` of the halves of a dimension, in one kernel each way."""
    return _one_gate(tape, x, dim, "glu", flops=5)


def _one_gate(tape: Tape, x: Tensor, dim: int, name: str, *, flops: int) -> Tensor:
    shape = (*x.shape[:dim], x.shape[dim] // 2, *x.shape[dim + 1 :])
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    pointwise(
        tape, name, Phase.FORWARD, read=x.bytes, written=out.bytes, elements=out.numel, compute=x.dtype,
        flops_per_element=flops,
    )  # fmt: skip
    if x.requires_grad:
        tape.save(x)
        pointwise(
            tape, f"{name}_backward", Phase.DGRAD, read=x.bytes + out.bytes, written=x.bytes,
            elements=out.numel, compute=x.dtype, flops_per_element=2 * flops,
        )  # fmt: skip
    return out


def gated(
    tape: Tape,
    x: Tensor,
    dim: int | None,
    gate: str,
    *,
    other: Tensor | None = None,
    activates_first: bool = True,
) -> Tensor:
    """Return ``gate(a) * b`` for the halves a, b of dimension ``dim``, or for ``x`` and ``other``."""
    if other is None and dim is not None:
        if fuses(tape):
            return _one_gate(tape, x, dim, f"{gate}_glu", flops=_GATE_FLOPS[gate] + 1)
        half = x.shape[dim] // 2
        x, other = split(tape, x, dim, (half, half))
        if not activates_first:
            x, other = other, x
    assert other is not None  # noqa: S101 - one of dim and other is given
    activated = unary(
        tape, x, gate, saves="output" if gate == "relu" else "input", flops_per_element=_GATE_FLOPS[gate]
    )
    return mul(tape, activated, other)


def gelu_new(tape: Tape, x: Tensor) -> Tensor:
    """Return 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): eight kernels unless fused."""
    if fuses(tape):
        return unary(tape, x, "gelu", flops_per_element=_GELU_FLOPS)
    fork(tape, x, uses=3)
    half = mul_scalar(tape, x)
    inner = mul_scalar(tape, add(tape, x, mul_scalar(tape, power(tape, x, 3))))
    return mul(tape, half, add_scalar(tape, unary(tape, inner, "tanh", saves="output", flops_per_element=3)))


def quick_gelu(tape: Tape, x: Tensor) -> Tensor:
    """Return x sigmoid(1.702 x): three kernels unless fused."""
    if fuses(tape):
        return unary(tape, x, "gelu", flops_per_element=_GELU_FLOPS)
    fork(tape, x)
    return mul(tape, x, unary(tape, mul_scalar(tape, x), "sigmoid", saves="output", flops_per_element=3))


def tanh_shrink(tape: Tape, x: Tensor) -> Tensor:
    """Return x - tanh(x)."""
    fork(tape, x)
    return sub(tape, x, unary(tape, x, "tanh", saves="output", flops_per_element=3))
