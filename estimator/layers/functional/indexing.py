"""Look-ups: rows of a table or entries of a tensor by index, and the scattered sums of their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.precision import DType
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_INDEX = DType.INT64.itemsize


def embedding(tape: Tape, indices: Tensor, weight: Tensor, *, sparse: bool = False) -> Tensor:
    """Return rows of the table: ``(*), (V, D) -> (*, D)``.

    The gradient is a table of zeros into which rows are added; a sparse one is the rows alone.
    """
    out = tape.new((*indices.shape, weight.shape[1]), weight.dtype, requires_grad=weight.requires_grad)
    _look_up(tape, "embedding", indices, out, rows=out.bytes, weight=True)
    if weight.requires_grad:
        tape.save(indices)
        written = out.bytes if sparse else weight.bytes
        _scattered(tape, "embedding_backward", Phase.WGRAD, out, index_bytes=indices.bytes, written=written)
    return out


def embedding_bag(
    tape: Tape, indices: Tensor, weight: Tensor, *, bags: int, mode: str, offsets: Tensor | None, sparse: bool
) -> Tensor:
    """Return the sum, mean or maximum of the rows of each bag: ``(bags, D)``.

    Kept are the indices, where bags start, the bag of each index, bag sizes and, for maxima, their places.
    """
    width = weight.shape[1]
    if offsets is None:  # bags of equal length: their starts are counted out first
        tape.emit(
            traffic(
                "arange", Op.ELEMENTWISE, Phase.FORWARD, compute=DType.INT64, read=0, written=bags * _INDEX,
                elements=bags, flops_per_element=0,
            )
        )  # fmt: skip
    out = tape.new((bags, width), weight.dtype, requires_grad=weight.requires_grad)
    _look_up(
        tape, "embedding_bag", indices, out,
        rows=indices.numel * width * weight.dtype.itemsize, weight=True,
    )  # fmt: skip
    if weight.requires_grad:
        tape.save(indices)
        if offsets is None:
            tape.save_bytes(bags * _INDEX)
        else:
            tape.save(offsets)
        places = bags * width if mode == "max" else 0
        tape.save_bytes((indices.numel + bags + places) * _INDEX)
        written = indices.numel * width * weight.dtype.itemsize if sparse else weight.bytes
        _scattered(
            tape,
            "embedding_bag_backward",
            Phase.WGRAD,
            out,
            index_bytes=2 * indices.numel * _INDEX,
            written=written,
        )
    return out


def indexed(tape: Tape, x: Tensor, index: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    """Return entries of ``x`` chosen by ``index``; the gradient is scattered into zeros."""
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    _look_up(tape, name, index, out, rows=out.bytes, weight=False)
    if x.requires_grad:
        tape.save(index)
        _scattered(tape, f"{name}_backward", Phase.DGRAD, out, index_bytes=index.bytes, written=x.bytes)
    return out


def _look_up(tape: Tape, name: str, indices: Tensor, out: Tensor, *, rows: int, weight: bool) -> None:
    tape.emit(
        traffic(
            name, Op.GATHER, Phase.FORWARD, compute=out.dtype, read=rows + indices.bytes, written=out.bytes,
            elements=out.numel, flops_per_element=0, weight_bytes=rows if weight else 0,
        )
    )  # fmt: skip


def _scattered(tape: Tape, name: str, phase: Phase, out: Tensor, *, index_bytes: int, written: int) -> None:
    tape.emit(
        traffic(
            name, Op.SCATTER, phase, compute=out.dtype, read=out.bytes + index_bytes, written=written,
            elements=out.numel, launches=2,
        )
    )  # fmt: skip
