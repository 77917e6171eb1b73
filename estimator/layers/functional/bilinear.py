"""The bilinear form of two inputs and a weight, as PyTorch runs it: one output feature after another."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.functional.pointwise import cast, pointwise, promote
from estimator.workload.build import product, traffic
from estimator.workload.kernel import GemmShape, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def bilinear(tape: Tape, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``x^T W_o y + b_o`` for each output o: ``(*, I), (*, J), (O, I, J) -> (*, O)``.

    FLOPs 2 N O (I J + J): x W, then its product with y. Only the inputs are kept, so each of the (up to
    three) gradients is a trilinear form of the same size again. Autocast promotes to the widest format.
    """
    widest = promote(x, y, weight)
    x, y, weight = (cast(tape, t, widest) for t in (x, y, weight))
    features, i, j = weight.shape
    n = prod(x.shape[:-1])
    operands = (x, y, weight)
    out = tape.new((*x.shape[:-1], features), widest, requires_grad=any(t.requires_grad for t in operands))
    phases = [Phase.FORWARD]
    phases += [Phase.DGRAD for t in (x, y) if t.requires_grad]
    phases += [Phase.WGRAD] if weight.requires_grad else []
    for phase in phases:
        _trilinear(tape, phase, (n, features, i, j), out)
    if out.requires_grad:
        for operand, others in ((x, (y,)), (y, (x,)), (weight, (x, y))):
            if operand.requires_grad:
                for other in others:
                    tape.save(other)
    if bias is not None:
        pointwise(
            tape, "bias", Phase.FORWARD, read=out.bytes + bias.bytes, written=out.bytes, elements=out.numel,
            compute=widest,
        )  # fmt: skip
        if bias.requires_grad:
            tape.emit(
                traffic(
                    "bias_wgrad", Op.REDUCTION, Phase.WGRAD, compute=widest, read=out.bytes,
                    written=bias.bytes, elements=out.numel,
                )
            )  # fmt: skip
    return out


def _trilinear(tape: Tape, phase: Phase, sizes: tuple[int, int, int, int], out: Tensor) -> None:
    """Put one pass on the tape: for each output feature two products and an addition."""
    n, features, i, j = sizes
    size, compute = out.dtype.itemsize, tape.policy.product
    whole = product(
        "bilinear", phase, GemmShape(features, n, j, i), compute=compute, itemsize=size,
        weight="out" if phase is Phase.WGRAD else "b",
    )  # fmt: skip
    rows = product("bilinear_rows", phase, GemmShape(features * n, 1, 1, j), compute=compute, itemsize=size)
    tape.emit(replace(whole, launches=features))
    tape.emit(replace(rows, launches=features))
    tape.emit(
        traffic(
            "add", Op.ELEMENTWISE, phase, compute=out.dtype, read=2 * out.bytes, written=out.bytes,
            elements=out.numel, launches=features,
        )
    )  # fmt: skip
