"""Normalisations: batch, layer, group and root-mean-square norms, by the passes their kernels make."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.functional.arithmetic import add_scalar, mul, power, rsqrt
from estimator.layers.functional.movement import contiguous, image_order
from estimator.layers.functional.pointwise import fork, full_precision
from estimator.layers.functional.reductions import mean
from estimator.precision import DType
from estimator.software import Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.layers.tape import Tape, Tensor

_STATISTIC = DType.FP32.itemsize  # means and deviations are kept in the format of the accumulator
_FLOPS = 5  # an element: subtract, square and add; scale and shift
FUSED_RMS_NORM_ERA = 2025  # PyTorch 2.9 has a fused kernel, before it ran as six element-wise ones


def _passes(
    tape: Tape, x: Tensor, name: str, op: Op, phase: Phase, *, reads: int, writes: int, weights: int = 0
) -> None:
    tape.emit(
        traffic(
            name, op, phase, compute=x.dtype, read=reads * x.bytes + weights, written=writes * x.bytes,
            elements=x.numel, flops_per_element=_FLOPS, weight_bytes=weights,
        )
    )  # fmt: skip


def _bytes(weights: Sequence[Tensor]) -> int:
    return sum(weight.bytes for weight in weights)


def _output(tape: Tape, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    grad = x.requires_grad or any(weight.requires_grad for weight in weights)
    return tape.new(x.shape, x.dtype, requires_grad=grad, strides=x.strides)


def batch_norm(
    tape: Tape, x: Tensor, weights: Sequence[Tensor], *, channels: int, batch_statistics: bool
) -> Tensor:
    """Return ``x`` normalised by channel: 3 passes with the batch's statistics and 5 backward, else 2 and 2.

    With stored statistics the operation is a scale and shift of each element.
    """
    x = image_order(tape, x)
    out = _output(tape, x, weights)
    name = "batch_norm" if batch_statistics else "batch_norm_inference"  # other kernels, the latter slower
    _passes(
        tape, x, name, Op.BATCH_NORM, Phase.FORWARD,
        reads=2 if batch_statistics else 1, writes=1, weights=_bytes(weights),
    )  # fmt: skip
    if not out.requires_grad:
        return out
    if x.requires_grad or batch_statistics:
        tape.save(x)
        tape.save_bytes(2 * channels * _STATISTIC)
    phase = Phase.DGRAD if x.requires_grad else Phase.WGRAD
    reads = 4 if batch_statistics else 2
    if phase is Phase.WGRAD:
        reads = 2
    _passes(
        tape, x, "batch_norm_backward", Op.BATCH_NORM, phase,
        reads=reads, writes=1 if x.requires_grad else 0, weights=_bytes(weights[:1]),
    )  # fmt: skip
    return out


def layer_norm(tape: Tape, x: Tensor, weights: Sequence[Tensor], *, size: int) -> Tensor:
    """Return rows of ``size`` elements normalised: 3 passes; backward 3 for the input, 2 for the weights."""
    x = contiguous(tape, full_precision(tape, x))
    out = _output(tape, x, weights)
    _row_norm(tape, x, out, weights, "layer_norm", statistics=2 * (x.numel // size if size else 0))
    return out


def _row_norm(
    tape: Tape, x: Tensor, out: Tensor, weights: Sequence[Tensor], name: str, *, statistics: int
) -> None:
    read = _bytes(weights)
    _passes(tape, x, name, Op.LAYER_NORM, Phase.FORWARD, reads=2, writes=1, weights=read)
    if not out.requires_grad:
        return
    tape.save(x)
    tape.save_bytes(statistics * _STATISTIC)
    if x.requires_grad:
        read = _bytes(weights[:1])
        _passes(tape, x, f"{name}_backward", Op.LAYER_NORM, Phase.DGRAD, reads=2, writes=1, weights=read)
    if any(weight.requires_grad for weight in weights):
        tape.emit(
            traffic(
                f"{name}_wgrad", Op.LAYER_NORM, Phase.WGRAD, compute=x.dtype, read=2 * x.bytes,
                written=_bytes(weights), elements=x.numel, flops_per_element=2,
            )
        )  # fmt: skip


def rms_norm(tape: Tape, x: Tensor, weight: Tensor | None, *, dims: tuple[int, ...]) -> Tensor:
    """Return rows divided by their root mean square, in one kernel where the software has one.

    Un-fused it is a power, a mean, an addition, a reciprocal root and two products, each a kernel.
    """
    software = tape.setting.software
    weights = () if weight is None else (weight,)
    if software.mode is not Mode.EAGER or software.era >= FUSED_RMS_NORM_ERA:
        x = contiguous(tape, full_precision(tape, x))
        out = _output(tape, x, weights)
        size = prod(x.shape[d] for d in dims)
        rows = x.numel // size if size else 0
        _row_norm(tape, x, out, weights, "rms_norm", statistics=rows)
        return out
    x = fork(tape, full_precision(tape, x))
    squares = mean(tape, power(tape, x, 2), dims, keepdim=True)
    result = mul(tape, x, rsqrt(tape, add_scalar(tape, squares)))
    return result if weight is None else mul(tape, result, weight)


def group_norm(tape: Tape, x: Tensor, weights: Sequence[Tensor], *, groups: int, batch: int) -> Tensor:
    """Return ``(N, C, *)`` normalised by sample and group of channels: 3 passes and 5 backward.

    The kernel knows channels-first memory only.
    """
    x = contiguous(tape, full_precision(tape, x))
    out = _output(tape, x, weights)
    read = _bytes(weights)
    _passes(tape, x, "group_norm", Op.GROUP_NORM, Phase.FORWARD, reads=2, writes=1, weights=read)
    if out.requires_grad:
        tape.save(x)
        tape.save_bytes(2 * batch * groups * _STATISTIC)
        phase = Phase.DGRAD if x.requires_grad else Phase.WGRAD
        _passes(
            tape, x, "group_norm_backward", Op.GROUP_NORM, phase,
            reads=4 if x.requires_grad else 2, writes=1 if x.requires_grad else 0,
            weights=_bytes(weights[:1]),
        )  # fmt: skip
    return out
