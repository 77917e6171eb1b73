"""Reductions: means, sums and extremes along dimensions, norms, softmax, running sums."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.functional.movement import contiguous
from estimator.layers.functional.pointwise import full_precision, pointwise
from estimator.layers.strides import channels_last, is_channels_last
from estimator.precision import DType
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_SOFTMAX_FLOPS = 5  # an element: maximum, subtract, exponential, sum, divide


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], *, keepdim: bool) -> tuple[int, ...]:
    """Return the shape without ``dims`` (or with 1 in their places); no dims means all of them."""
    dims = dims or tuple(range(len(shape)))
    if keepdim:
        return tuple(1 if d in dims else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def reduction(
    tape: Tape, x: Tensor, dims: tuple[int, ...], name: str, *, keepdim: bool, dtype: DType | None = None
) -> Tensor:
    """Return ``x`` reduced over ``dims`` by one kernel; no backward yet."""
    shape = reduced_shape(x.shape, dims, keepdim=keepdim)
    last = channels_last(shape) if keepdim and is_channels_last(x.shape, x.strides) else None
    out = tape.new(shape, dtype or x.dtype, requires_grad=x.requires_grad, strides=last)
    tape.emit(
        traffic(
            name, Op.REDUCTION, Phase.FORWARD, compute=x.dtype, read=x.bytes, written=out.bytes,
            elements=x.numel,
        )
    )  # fmt: skip
    return out


def _spread(tape: Tape, name: str, x: Tensor, read: int, flops: int = 1) -> None:
    """Put one element-wise kernel of a reduction's backward on the tape: it writes a tensor like ``x``."""
    pointwise(
        tape, name, Phase.DGRAD, read=read, written=x.bytes, elements=x.numel, compute=x.dtype,
        flops_per_element=flops,
    )  # fmt: skip


def mean(tape: Tape, x: Tensor, dims: tuple[int, ...], *, keepdim: bool = False) -> Tensor:
    """Return the mean; the backward divides and spreads in one kernel."""
    out = reduction(tape, x, dims, "mean", keepdim=keepdim)
    if x.requires_grad:
        _spread(tape, "mean_backward", x, out.bytes)
    return out


def total(tape: Tape, x: Tensor, dims: tuple[int, ...], *, keepdim: bool = False) -> Tensor:
    """Return the sum; its gradient is an expanded view."""
    return reduction(tape, full_precision(tape, x), dims, "sum", keepdim=keepdim)


def extreme(tape: Tape, x: Tensor, dims: tuple[int, ...], name: str, *, keepdim: bool = False) -> Tensor:
    """Return the largest or smallest value; equal ones share the gradient (five kernels)."""
    out = reduction(tape, x, dims, name, keepdim=keepdim)
    if x.requires_grad:
        tape.save(x)
        tape.save(out)
        mask = x.numel * DType.BOOL.itemsize
        pointwise(
            tape, "eq_backward", Phase.DGRAD, read=x.bytes + out.bytes, written=mask, elements=x.numel,
            compute=x.dtype,
        )  # fmt: skip
        tape.emit(
            traffic(
                "sum", Op.REDUCTION, Phase.DGRAD, compute=x.dtype, read=mask, written=out.bytes,
                elements=x.numel,
            )
        )  # fmt: skip
        _spread(tape, "div_backward", x, mask + out.bytes)
        _spread(tape, "mul_backward", x, x.bytes + out.bytes)
    return out


def variance(tape: Tape, x: Tensor, dims: tuple[int, ...], *, keepdim: bool = False) -> Tensor:
    """Return the variance; backward: the mean again, a difference, and two products."""
    out = reduction(tape, x, dims, "var", keepdim=keepdim)
    if x.requires_grad:
        tape.save(x)
        tape.emit(
            traffic(
                "mean", Op.REDUCTION, Phase.DGRAD, compute=x.dtype, read=x.bytes, written=out.bytes,
                elements=x.numel,
            )
        )  # fmt: skip
        _spread(tape, "sub_backward", x, x.bytes + out.bytes)
        pointwise(
            tape, "mul_scalar_backward", Phase.DGRAD, read=out.bytes, written=out.bytes, elements=out.numel,
            compute=x.dtype,
        )  # fmt: skip
        _spread(tape, "mul_backward", x, x.bytes + out.bytes)
    return out


def vector_norm(tape: Tape, x: Tensor, dims: tuple[int, ...], *, keepdim: bool = False) -> Tensor:
    """Return the Euclidean norm; backward: ``x / norm``, the zeros masked, times the gradient."""
    x = full_precision(tape, x)
    out = reduction(tape, x, dims, "norm", keepdim=keepdim)
    if x.requires_grad:
        tape.save(x)
        tape.save(out)
        mask = out.numel * DType.BOOL.itemsize
        _spread(tape, "div_backward", x, x.bytes + out.bytes)
        pointwise(
            tape, "eq_backward", Phase.DGRAD, read=out.bytes, written=mask, elements=out.numel,
            compute=x.dtype,
        )  # fmt: skip
        _spread(tape, "masked_fill_backward", x, x.bytes + mask)
        _spread(tape, "mul_backward", x, x.bytes + out.bytes)
    return out


def softmax(tape: Tape, x: Tensor, name: str = "softmax") -> Tensor:
    """Return (log-)softmax along a dimension: two passes, backward three; the output is kept."""
    x = contiguous(tape, full_precision(tape, x))
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad)
    tape.emit(
        traffic(
            name, Op.SOFTMAX, Phase.FORWARD, compute=x.dtype, read=x.bytes, written=out.bytes,
            elements=x.numel, flops_per_element=_SOFTMAX_FLOPS,
        )
    )  # fmt: skip
    if x.requires_grad:
        tape.save(out)
        tape.emit(
            traffic(
                f"{name}_backward", Op.SOFTMAX, Phase.DGRAD, compute=x.dtype, read=2 * x.bytes,
                written=x.bytes, elements=x.numel, flops_per_element=4,
            )
        )  # fmt: skip
    return out


def cumulative_sum(tape: Tape, x: Tensor) -> Tensor:
    """Return running sums; the backward flips, sums and flips back."""
    x = full_precision(tape, x)
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad)
    steps = [("cumsum", Op.REDUCTION, Phase.FORWARD)]
    if x.requires_grad:
        flip = ("flip", Op.COPY, Phase.DGRAD)
        steps += [flip, ("cumsum", Op.REDUCTION, Phase.DGRAD), flip]
    for name, op, phase in steps:
        tape.emit(traffic(name, op, phase, compute=x.dtype, read=x.bytes, written=x.bytes, elements=x.numel))
    return out


def arg_extreme(tape: Tape, x: Tensor, dims: tuple[int, ...], name: str, *, keepdim: bool = False) -> Tensor:
    """Return indices of the largest or smallest values: int64, without a gradient."""
    return reduction(tape, x, dims, name, keepdim=keepdim, dtype=DType.INT64)


def batch_mean(tape: Tape, x: Tensor) -> Tensor:
    """Return the scalar mean of all elements."""
    return mean(tape, x, tuple(range(len(x.shape)))) if prod(x.shape) != 1 else x
