"""Loss functions: kernels forward and backward, in fp32 under autocast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.layers.functional.arithmetic import add, apply, mul, mul_scalar, sub
from estimator.layers.functional.pointwise import (
    combined,
    each_element,
    fork,
    full_precision,
    pointwise,
)
from estimator.layers.functional.reductions import mean, softmax, total
from estimator.precision import DType
from estimator.software import Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def all_dims(x: Tensor) -> tuple[int, ...]:
    """Return every dimension."""
    return tuple(range(len(x.shape)))


def reduced(tape: Tape, x: Tensor, reduction: str) -> Tensor:
    """Return a loss of each element as asked for: "mean", "sum" or "none"."""
    if reduction == "none":
        return x
    return mean(tape, x, all_dims(x)) if reduction == "mean" else total(tape, x, all_dims(x))


def pairwise_loss(
    tape: Tape, x: Tensor, target: Tensor, name: str, *, reduction: str, flops_per_element: int = 3
) -> Tensor:
    """Return a loss with kernels of its own (squared, smooth, Huber, binary cross-entropy).

    The forward writes the loss of each element and reduces it; the backward is one kernel.
    """
    x, target = full_precision(tape, x), full_precision(tape, target)
    each = combined(tape, x, target, name)
    if x.requires_grad:
        tape.save(x)
        tape.save(target)
        pointwise(
            tape, f"{name}_backward", Phase.DGRAD, read=x.bytes + target.bytes, written=x.bytes,
            elements=x.numel, compute=x.dtype, flops_per_element=flops_per_element,
        )  # fmt: skip
    if reduction == "none":
        return each
    out = tape.new((), each.dtype, requires_grad=x.requires_grad)
    tape.emit(
        traffic(
            reduction, Op.REDUCTION, Phase.FORWARD, compute=each.dtype, read=each.bytes, written=out.bytes,
            elements=each.numel,
        )
    )  # fmt: skip
    return out


def l1_loss(tape: Tape, x: Tensor, target: Tensor, *, reduction: str) -> Tensor:
    """Return |x - target|, as a difference, an absolute value and a reduction."""
    x, target = full_precision(tape, x), full_precision(tape, target)
    return reduced(tape, apply(tape, sub(tape, x, target), "abs"), reduction)


def bce_with_logits(tape: Tape, x: Tensor, target: Tensor, *, reduction: str) -> Tensor:
    """Return binary cross-entropy of logits: four element-wise kernels each way (PyTorch, Loss.cpp)."""
    x, target = full_precision(tape, x), full_precision(tape, target)
    steps = [("rsub", 1), ("mul", 2), ("log_sigmoid", 1), ("sub", 2)]
    for name, reads in steps:
        each_element(tape, x, name, Phase.FORWARD, reads=reads)
    each = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad)
    if x.requires_grad:
        tape.save(x)
        tape.save(target)
        for name, reads in [("sigmoid", 1), ("sub", 2), ("mul", 1)] + [("div", 1)] * (reduction == "mean"):
            each_element(tape, x, f"{name}_backward", Phase.DGRAD, reads=reads)
    if reduction == "none":
        return each
    out = tape.new((), x.dtype, requires_grad=x.requires_grad)
    tape.emit(
        traffic(
            reduction, Op.REDUCTION, Phase.FORWARD, compute=x.dtype, read=each.bytes, written=out.bytes,
            elements=each.numel,
        )
    )  # fmt: skip
    return out


def kl_div(tape: Tape, x: Tensor, target: Tensor, *, reduction: str, log_target: bool) -> Tensor:
    """Return target (log target - x): products and a difference, each a kernel."""
    x, target = full_precision(tape, x), full_precision(tape, target)
    if log_target:
        each = mul(tape, apply(tape, target, "exp"), sub(tape, target, x))
    else:
        each_element(tape, target, "xlogy", Phase.FORWARD, reads=2)
        entropy = tape.new(target.shape, target.dtype, requires_grad=False)
        each = sub(tape, entropy, mul(tape, target, x))
    if reduction == "batchmean":
        return mul_scalar(tape, total(tape, each, all_dims(each)))
    return reduced(tape, each, reduction)


def nll_loss(tape: Tape, x: Tensor, target: Tensor, *, reduction: str) -> Tensor:
    """Return minus the entry of ``x`` at each target; the gradient is zeros with one entry a target."""
    x = full_precision(tape, x)
    shape = target.shape if reduction == "none" else ()
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    picked = target.numel * x.dtype.itemsize
    tape.emit(
        traffic(
            "nll_loss", Op.REDUCTION, Phase.FORWARD, compute=x.dtype, read=picked + target.bytes,
            written=out.bytes + x.dtype.itemsize, elements=target.numel,
        )
    )  # fmt: skip
    if x.requires_grad:
        tape.save(x)
        tape.save(target)
        tape.save_bytes(x.dtype.itemsize)  # the sum of the weights
        tape.emit(
            traffic(
                "nll_loss_backward", Op.ELEMENTWISE, Phase.DGRAD, compute=x.dtype,
                read=target.bytes, written=x.bytes + picked, elements=x.numel, flops_per_element=0,
                launches=2,
            )
        )  # fmt: skip
    return out


def cross_entropy(
    tape: Tape, x: Tensor, target: Tensor, *, dim: int, reduction: str, label_smoothing: float
) -> Tensor:
    """Return the cross-entropy of logits along ``dim``, against classes or against probabilities.

    Tuned code's fused kernel (Apex, flash-attention) keeps the logits, which are there anyway.
    """
    log_probabilities = softmax(tape, x, "log_softmax")
    if target.dtype.is_floating:
        return _soft_cross_entropy(tape, log_probabilities, target, reduction, label_smoothing)
    if not label_smoothing:
        loss = nll_loss(tape, log_probabilities, target, reduction=reduction)
        if x.requires_grad and tape.setting.software.mode is Mode.FUSED:
            tape.save(x)
            tape.forget(log_probabilities)
        return loss
    fork(tape, log_probabilities)
    hard = nll_loss(tape, log_probabilities, target, reduction=reduction)
    rows = total(tape, log_probabilities, (dim,))
    smooth = apply(tape, rows, "neg")
    mask = tape.new(target.shape, DType.BOOL, requires_grad=False)
    for name, reads in (("eq", target.bytes), ("masked_fill", mask.bytes + rows.bytes)):
        pointwise(
            tape, name, Phase.FORWARD, read=reads, written=mask.bytes, elements=mask.numel,
            compute=rows.dtype,
        )  # fmt: skip
    if log_probabilities.requires_grad:
        tape.save(mask)
    both = (mul_scalar(tape, loss) for loss in (hard, reduced(tape, smooth, reduction)))
    return add(tape, *both)


def _soft_cross_entropy(
    tape: Tape, log_probabilities: Tensor, target: Tensor, reduction: str, label_smoothing: float
) -> Tensor:
    target = full_precision(tape, target)
    if label_smoothing:
        target = apply(tape, mul_scalar(tape, target), "add_scalar")
    each = mul(tape, log_probabilities, target)
    if reduction == "none":
        return apply(tape, total(tape, each, (1,)), "neg")
    loss = apply(tape, total(tape, each, all_dims(each)), "neg")
    return mul_scalar(tape, loss) if reduction == "mean" else loss
