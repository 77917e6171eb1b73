"""Rotary position embedding: pairs of query and key features turned by an angle that grows with position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.layers.functional.movement import moved
from estimator.layers.functional.pointwise import ADDED_GRADIENT, pointwise
from estimator.layers.strides import preserved
from estimator.software import Mode
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def rotary(tape: Tape, x: Tensor, dims: int | None = None) -> Tensor:
    """Return ``x`` (..., L, D) with its first ``dims`` features (all by default) turned.

    ``x cos + rotate_half(x) sin`` (Su et al., arXiv:2104.09864) as model code writes it: negate a half, join
    the halves, two products and a sum, and seven kernels backward; one kernel each way where kernels are
    fused. The tables of sines and cosines are constants that all layers share; nothing else is kept.
    """
    width = x.shape[-1]
    turned = dims or width
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
    work = x.bytes // width * turned
    table = x.shape[-2] * turned * x.dtype.itemsize
    elements = x.numel // width * turned
    eager = tape.setting.software.mode is Mode.EAGER
    forward = _EAGER_FORWARD if eager else _FUSED
    backward = _EAGER_BACKWARD if eager else _FUSED_BACKWARD
    for phase, kernels in ((Phase.FORWARD, forward), (Phase.DGRAD, backward)):
        if phase is Phase.DGRAD and not out.requires_grad:
            continue
        for name, reads, writes, tables, flops in kernels:
            pointwise(
                tape, name, phase, read=work * reads // 2 + table * tables, written=work * writes // 2,
                elements=elements * writes // 2, compute=x.dtype, flops_per_element=flops,
            )  # fmt: skip
    if turned != width and eager:
        return moved(tape, out, x.shape, "join_rotary", Op.CONCAT, strides=out.strides)
    return out


# name, halves read, halves written, tables read, FLOPs an element
_EAGER_FORWARD = (
    ("neg", 1, 1, 0, 1),
    ("cat", 2, 2, 0, 0),
    ("mul", 2, 2, 1, 1),
    ("mul", 2, 2, 1, 1),
    ("add", 4, 2, 0, 1),
)
_EAGER_BACKWARD = (
    ("mul_backward", 2, 2, 1, 1),
    ("mul_backward", 2, 2, 1, 1),
    ("neg_backward", 1, 1, 0, 1),
    ("slice_backward", 1, 2, 0, 0),
    ("slice_backward", 1, 2, 0, 0),
    (ADDED_GRADIENT, 4, 2, 0, 1),
    (ADDED_GRADIENT, 4, 2, 0, 1),
)
_FUSED = (("rotary", 2, 2, 2, 3),)
_FUSED_BACKWARD = (("rotary_backward", 2, 2, 2, 3),)
