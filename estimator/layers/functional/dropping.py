"""Random masks of their own shape: dropout of feature maps and of whole samples, alpha dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.layers.functional.pointwise import each_element, pointwise
from estimator.layers.strides import preserved
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def feature_dropout(tape: Tape, x: Tensor, *, p: float, mask_shape: tuple[int, ...]) -> Tensor:
    """Return ``x`` times a broadcast random mask: drawn, scaled, multiplied (three kernels)."""
    if not tape.training or p == 0:
        return x
    mask = tape.new(mask_shape, x.dtype, requires_grad=False)
    pointwise(
        tape, "bernoulli", Phase.FORWARD, read=0, written=mask.bytes, elements=mask.numel, compute=x.dtype
    )
    each_element(tape, mask, "scale_mask", Phase.FORWARD)
    return _masked(tape, x, mask)


def alpha_dropout(tape: Tape, x: Tensor, *, p: float, mask_shape: tuple[int, ...] | None = None) -> Tensor:
    """Return ``x`` with dropped values set so that mean and variance stay: five kernels over the mask."""
    if not tape.training or p == 0:
        return x
    mask = tape.new(mask_shape or x.shape, x.dtype, requires_grad=False)
    pointwise(
        tape, "bernoulli", Phase.FORWARD, read=0, written=mask.bytes, elements=mask.numel, compute=x.dtype
    )
    for name in ("add", "mul", "add", "mul"):
        each_element(tape, mask, f"mask_{name}", Phase.FORWARD)
    out = _masked(tape, x, mask)
    pointwise(
        tape, "add", Phase.FORWARD, read=out.bytes + mask.bytes, written=out.bytes, elements=out.numel,
        compute=x.dtype,
    )  # fmt: skip
    return out


def _masked(tape: Tape, x: Tensor, mask: Tensor) -> Tensor:
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
    pointwise(
        tape, "mul", Phase.FORWARD, read=x.bytes + mask.bytes, written=out.bytes, elements=x.numel,
        compute=x.dtype,
    )  # fmt: skip
    if out.requires_grad:
        tape.save(mask)
        pointwise(
            tape, "mul_backward", Phase.DGRAD, read=out.bytes + mask.bytes, written=x.bytes,
            elements=x.numel, compute=x.dtype,
        )  # fmt: skip
    return out
