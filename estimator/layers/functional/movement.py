"""Functions that move or rearrange values: views, copies, padding, concatenation, look-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def moved(tape: Tape, x: Tensor, shape: tuple[int, ...], name: str, op: Op = Op.COPY) -> Tensor:
    """Return ``x`` copied to a new shape (padding, slicing, shuffling): one copy each way, nothing kept."""
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    least = min(x.bytes, out.bytes)
    tape.emit(
        traffic(
            name, op, Phase.FORWARD, compute=x.dtype, read=least, written=out.bytes, elements=out.numel,
            flops_per_element=0,
        )
    )  # fmt: skip
    if out.requires_grad:
        tape.emit(
            traffic(
                f"{name}_backward", op, Phase.DGRAD, compute=x.dtype, read=least, written=x.bytes,
                elements=x.numel, flops_per_element=0,
            )
        )  # fmt: skip
    return out


def pad(
    tape: Tape, x: Tensor, before: tuple[int, ...], after: tuple[int, ...], *, name: str = "pad"
) -> Tensor:
    """Return ``x`` with its last dimensions extended."""
    kept = len(x.shape) - len(before)
    shape = x.shape[:kept] + tuple(s + b + a for s, b, a in zip(x.shape[kept:], before, after, strict=True))
    return moved(tape, x, shape, name, Op.CONCAT)
