"""Element-wise functions: casts, arithmetic with broadcasting, activations, dropout."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.base import LayerError
from estimator.precision import DType
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_WIDTH = {DType.FP16: 0, DType.BF16: 0, DType.FP32: 1, DType.TF32: 1, DType.FP64: 2}


def pointwise(
    tape: Tape,
    name: str,
    phase: Phase,
    *,
    read: int,
    written: int,
    elements: int,
    compute: DType,
    flops_per_element: int = 1,
) -> None:
    """Put one element-wise kernel on the tape (bytes given, because operands broadcast)."""
    tape.emit(
        traffic(
            name,
            Op.ELEMENTWISE,
            phase,
            compute=compute,
            read=read,
            written=written,
            elements=elements,
            flops_per_element=flops_per_element,
        )
    )


def cast(tape: Tape, x: Tensor, dtype: DType, name: str = "cast") -> Tensor:
    """Return ``x`` in another format: a copy each way, nothing when it has that format already."""
    if x.dtype is dtype or not x.dtype.is_floating:
        return x
    out = tape.new(x.shape, dtype, requires_grad=x.requires_grad)
    pointwise(
        tape, name, Phase.FORWARD, read=x.bytes, written=out.bytes, elements=x.numel, compute=dtype,
        flops_per_element=0,
    )  # fmt: skip
    if x.requires_grad:
        pointwise(
            tape, name, Phase.DGRAD, read=out.bytes, written=x.bytes, elements=x.numel, compute=dtype,
            flops_per_element=0,
        )  # fmt: skip
    return out


def promote(*tensors: Tensor) -> DType:
    """Return the widest floating format among the operands, as frameworks promote."""
    floating = [t.dtype for t in tensors if t.dtype.is_floating]
    return max(floating, key=lambda d: _WIDTH.get(d, 0), default=tensors[0].dtype)


def broadcast(a: tuple[int, ...], b: tuple[int, ...], what: str) -> tuple[int, ...]:
    """Return the shape of an element-wise result, or raise LayerError."""
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for x, y in zip(left, right, strict=True):
        if x != y and 1 not in (x, y):
            raise LayerError(f"{what}: shapes {list(a)} and {list(b)} do not match")
    return tuple(max(x, y) if 0 not in (x, y) else 0 for x, y in zip(left, right, strict=True))


def unary(tape: Tape, x: Tensor, name: str, *, saves: str = "input", flops_per_element: int = 1) -> Tensor:
    """Return an activation of ``x``; ``saves`` is what its backward reads: "input", "output" or "none"."""
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad)
    pointwise(
        tape, name, Phase.FORWARD, read=x.bytes, written=out.bytes, elements=x.numel, compute=x.dtype,
        flops_per_element=flops_per_element,
    )  # fmt: skip
    if out.requires_grad:
        if saves != "none":
            tape.save(x if saves == "input" else out)
        pointwise(
            tape, f"{name}_backward", Phase.DGRAD,
            read=x.bytes * (1 if saves == "none" else 2), written=x.bytes, elements=x.numel,
            compute=x.dtype, flops_per_element=flops_per_element,
        )  # fmt: skip
    return out


def reduce_gradient(tape: Tape, operand: Tensor, out: Tensor) -> None:
    """Sum a gradient over the dimensions along which ``operand`` was broadcast."""
    if operand.numel != out.numel:
        tape.emit(
            traffic(
                "broadcast_backward", Op.REDUCTION, Phase.DGRAD, compute=out.dtype,
                read=out.bytes, written=operand.bytes, elements=out.numel,
            )
        )  # fmt: skip


def binary(tape: Tape, a: Tensor, b: Tensor, name: str, *, saves: bool = False) -> Tensor:
    """Return an element-wise combination with broadcasting.

    Sums (``saves`` False) pass their gradient on without a kernel; products keep both operands, and
    their backward is a kernel for each operand that needs a gradient.
    """
    shape = broadcast(a.shape, b.shape, name)
    dtype = promote(a, b)
    out = tape.new(shape, dtype, requires_grad=a.requires_grad or b.requires_grad)
    pointwise(
        tape,
        name,
        Phase.FORWARD,
        read=a.bytes + b.bytes,
        written=out.bytes,
        elements=out.numel,
        compute=dtype,
    )
    for operand, other in ((a, b), (b, a)):
        if not operand.requires_grad:
            continue
        if saves:
            tape.save(other)
            pointwise(
                tape, f"{name}_backward", Phase.DGRAD, read=out.bytes + other.bytes, written=out.bytes,
                elements=out.numel, compute=dtype,
            )  # fmt: skip
        reduce_gradient(tape, operand, out)
    return out


def dropout(tape: Tape, x: Tensor, *, p: float, mask_shape: tuple[int, ...] | None = None) -> Tensor:
    """Return ``x`` with a share ``p`` set to 0: the mask is kept, in inference nothing happens."""
    if not tape.training or p == 0:
        return x
    mask_bytes = prod(mask_shape or x.shape) * x.dtype.itemsize
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad)
    pointwise(
        tape, "dropout", Phase.FORWARD, read=x.bytes, written=out.bytes + prod(mask_shape or x.shape),
        elements=x.numel, compute=x.dtype, flops_per_element=2,
    )  # fmt: skip
    if out.requires_grad:
        tape.save_bytes(mask_bytes)
        pointwise(
            tape, "dropout_backward", Phase.DGRAD, read=out.bytes + prod(mask_shape or x.shape),
            written=x.bytes, elements=x.numel, compute=x.dtype,
        )  # fmt: skip
    return out
