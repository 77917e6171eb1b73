"""Element-wise functions: casts, activations of one operand, arithmetic of two with broadcasting, dropout."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.base import LayerError
from estimator.layers.strides import preserved
from estimator.precision import HALVES, DType
from estimator.workload.build import traffic
from estimator.workload.kernel import IN_PLACE, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.layers.tape import Tape, Tensor

_WIDTH = {DType.FP16: 0, DType.BF16: 0, DType.FP32: 1, DType.TF32: 1, DType.FP64: 2}
ADDED_GRADIENT = "accumulate_gradient" + IN_PLACE  # autograd adds to the first of several gradients


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


def each_element(tape: Tape, x: Tensor, name: str, phase: Phase, *, reads: int = 1, flops: int = 1) -> None:
    """Put one kernel on the tape that reads ``reads`` tensors like ``x`` and writes one."""
    pointwise(
        tape, name, phase, read=reads * x.bytes, written=x.bytes, elements=x.numel, compute=x.dtype,
        flops_per_element=flops,
    )  # fmt: skip


def cast(tape: Tape, x: Tensor, dtype: DType, name: str = "cast") -> Tensor:
    """Return ``x`` in another format: a copy each way, nothing when it has that format already."""
    if x.dtype is dtype or not x.dtype.is_floating:
        return x
    out = tape.new(x.shape, dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
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


def full_precision(tape: Tape, x: Tensor) -> Tensor:
    """Return ``x`` as fp32 where autocast runs the operation in fp32 (its list of sensitive functions)."""
    if tape.policy.autocast and x.dtype in HALVES:
        return cast(tape, x, DType.FP32)
    return x


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


def fork(tape: Tape, x: Tensor, uses: int = 2) -> Tensor:
    """Return ``x``, which is used ``uses`` times: its gradients are added up by a kernel each."""
    if x.requires_grad:
        for _ in range(uses - 1):
            each_element(tape, x, ADDED_GRADIENT, Phase.DGRAD, reads=2)
    return x


def unary(
    tape: Tape,
    x: Tensor,
    name: str,
    *,
    saves: str = "input",
    flops_per_element: int = 1,
    backward: Sequence[int] | None = None,
) -> Tensor:
    """Return an activation of ``x``; ``saves`` is what its backward reads: "input", "output" or "none".

    ``backward`` gives the number of tensors each backward kernel reads: one kernel that reads the
    gradient and what was saved, unless said otherwise.
    """
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
    each_element(tape, x, name, Phase.FORWARD, flops=flops_per_element)
    if out.requires_grad:
        if saves != "none":
            tape.save(x if saves == "input" else out)
        _unary_backward(tape, x, name, saves=saves, flops=flops_per_element, backward=backward)
    return out


def _unary_backward(
    tape: Tape, x: Tensor, name: str, *, saves: str, flops: int, backward: Sequence[int] | None
) -> None:
    if backward is None:
        backward = (1,) if saves == "none" else (2,)
    for reads in backward:
        each_element(tape, x, f"{name}_backward", Phase.DGRAD, reads=reads, flops=flops)


def unary_in_place(
    tape: Tape, x: Tensor, name: str, *, keeps: str = "input", flops_per_element: int = 1
) -> Tensor:
    """Return an activation written over ``x``.

    Where the backward needs the input ("input"), autograd clones it first; "output" needs no copy.
    """
    if x.requires_grad:
        if keeps == "input":
            each_element(tape, x, "clone", Phase.FORWARD, flops=0)
            tape.save_bytes(x.bytes)
        else:
            tape.save(x)
        _unary_backward(tape, x, name, saves=keeps, flops=flops_per_element, backward=None)
    each_element(tape, x, name + IN_PLACE, Phase.FORWARD, flops=flops_per_element)
    return tape.view(x, x.shape, x.strides)


def reduce_gradient(tape: Tape, operand: Tensor, out: Tensor) -> None:
    """Sum a gradient over the dimensions along which ``operand`` was broadcast."""
    if operand.numel != out.numel:
        tape.emit(
            traffic(
                "broadcast_backward", Op.REDUCTION, Phase.DGRAD, compute=out.dtype, read=out.bytes,
                written=operand.numel * out.dtype.itemsize, elements=out.numel,
            )
        )  # fmt: skip


def operand_gradient(tape: Tape, operand: Tensor, out: Tensor) -> None:
    """Bring the gradient of a broadcast, promoted operand to its own shape and format."""
    reduce_gradient(tape, operand, out)
    if operand.dtype is not out.dtype and operand.dtype.is_floating:
        read = operand.numel * out.dtype.itemsize
        pointwise(
            tape, "cast", Phase.DGRAD, read=read, written=operand.bytes, elements=operand.numel,
            compute=out.dtype, flops_per_element=0,
        )  # fmt: skip


def combined(tape: Tape, a: Tensor, b: Tensor, name: str, *, also_reads: int = 0) -> Tensor:
    """Return the result of one element-wise kernel over two broadcast operands; no backward yet."""
    shape = broadcast(a.shape, b.shape, name)
    dtype = promote(a, b)
    full = next((t for t in (a, b) if t.shape == shape), None)
    out = tape.new(
        shape,
        dtype,
        requires_grad=a.requires_grad or b.requires_grad,
        strides=None if full is None else preserved(shape, full.strides),
    )
    pointwise(
        tape, name, Phase.FORWARD, read=a.bytes + b.bytes + also_reads, written=out.bytes, elements=out.numel,
        compute=dtype,
    )  # fmt: skip
    return out


def binary(tape: Tape, a: Tensor, b: Tensor, name: str, *, saves: bool = False) -> Tensor:
    """Return an element-wise combination with broadcasting.

    Sums (``saves`` False) pass their gradient on without a kernel; products keep both operands, and
    their backward is a kernel for each operand that needs a gradient.
    """
    out = combined(tape, a, b, name)
    for operand, other in ((a, b), (b, a)):
        if not operand.requires_grad:
            continue
        if saves:
            tape.save(other)
            pointwise(
                tape, f"{name}_backward", Phase.DGRAD, read=out.bytes + other.bytes, written=out.bytes,
                elements=out.numel, compute=out.dtype,
            )  # fmt: skip
        operand_gradient(tape, operand, out)
    return out


def dropout(tape: Tape, x: Tensor, *, p: float, mask_shape: tuple[int, ...] | None = None) -> Tensor:
    """Return ``x`` with a share ``p`` set to 0: the mask is kept, in inference nothing happens."""
    if not tape.training or p == 0:
        return x
    mask = prod(mask_shape or x.shape)
    out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
    pointwise(
        tape, "dropout", Phase.FORWARD, read=x.bytes, written=out.bytes + mask, elements=x.numel,
        compute=x.dtype, flops_per_element=2,
    )  # fmt: skip
    if out.requires_grad:
        tape.save_bytes(mask * x.dtype.itemsize)
        pointwise(
            tape, "dropout_backward", Phase.DGRAD, read=out.bytes + mask, written=x.bytes, elements=x.numel,
            compute=x.dtype,
        )  # fmt: skip
    return out
