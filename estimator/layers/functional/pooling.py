"""Pooling and resampling: kernels that read windows and write points, or the other way round."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.layers.functional.movement import image_order
from estimator.layers.strides import channels_last, is_channels_last
from estimator.precision import DType
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def _points(tape: Tape, x: Tensor, size: tuple[int, ...]) -> Tensor:
    """Return an output ``(N, C, *size)`` in the memory order of the input."""
    shape = (*x.shape[: len(x.shape) - len(size)], *size)
    last = channels_last(shape) if is_channels_last(x.shape, x.strides) else None
    return tape.new(shape, x.dtype, requires_grad=x.requires_grad, strides=last)


def window_size(size_in: tuple[int, ...], size_out: tuple[int, ...]) -> int:
    """Return the elements of an average window when windows share an input out evenly."""
    return prod(-(-i // o) for i, o in zip(size_in, size_out, strict=True))


def max_pool(
    tape: Tape, x: Tensor, size: tuple[int, ...], *, window: int, name: str
) -> tuple[Tensor, Tensor]:
    """Return maxima and their int64 indices, which are written even where nobody asks for them."""
    x = image_order(tape, x)
    out = _points(tape, x, size)
    indices = tape.new(out.shape, DType.INT64, requires_grad=False)
    tape.emit(
        traffic(
            name, Op.POOL, Phase.FORWARD, compute=x.dtype, read=x.bytes, written=out.bytes + indices.bytes,
            elements=out.numel * window,
        )
    )  # fmt: skip
    if out.requires_grad:
        tape.save(x)
        tape.save(indices)
        tape.emit(
            traffic(
                f"{name}_backward", Op.POOL, Phase.DGRAD, compute=x.dtype, read=out.bytes + indices.bytes,
                written=x.bytes, elements=out.numel * window,
            )
        )  # fmt: skip
    return out, indices


def average_pool(tape: Tape, x: Tensor, size: tuple[int, ...], *, window: int, name: str) -> Tensor:
    """Return means of windows; the input is kept (autograd asks for its shape only, but keeps it)."""
    x = image_order(tape, x)
    if x.requires_grad:
        tape.save(x)
    return _resampled(tape, x, size, elements=window, name=name)


def resample(tape: Tape, x: Tensor, size: tuple[int, ...], *, taps: int, name: str) -> Tensor:
    """Return an image of another size, ``taps`` input points an output point; nothing is kept."""
    return _resampled(tape, image_order(tape, x), size, elements=taps, name=name)


def _resampled(tape: Tape, x: Tensor, size: tuple[int, ...], *, elements: int, name: str) -> Tensor:
    out = _points(tape, x, size)
    visited = out.numel * elements
    filtered(tape, name, x, (x.bytes, out.bytes), visited)
    if out.requires_grad:
        filtered(tape, name, x, (out.bytes, x.bytes), visited, backward=True)
    return out


def filtered(
    tape: Tape, name: str, x: Tensor, moved: tuple[int, int], taps: int, *, backward: bool = False
) -> None:
    """Put one kernel on the tape that filters images like ``x``.

    ``moved`` are the bytes read and written, ``taps`` the points read for all outputs together.
    """
    tape.emit(
        traffic(
            f"{name}_backward" if backward else name, Op.POOL, Phase.DGRAD if backward else Phase.FORWARD,
            compute=x.dtype, read=moved[0], written=moved[1], elements=taps,
        )
    )  # fmt: skip


def grid_sample(tape: Tape, x: Tensor, grid: Tensor, *, taps: int, name: str) -> Tensor:
    """Return ``x`` at the points of ``grid``: ``(N, C, *size), (N, *size', dims) -> (N, C, *size')``.

    A point reads ``taps`` values of each channel, so a large image is not read whole. The backward adds to
    an image of zeros and writes the gradient of the points (ATen, GridSampler.cu).
    """
    size = grid.shape[1:-1]
    out = tape.new((*x.shape[:2], *size), x.dtype, requires_grad=x.requires_grad or grid.requires_grad)
    visited = out.numel * taps
    touched = min(x.bytes, visited * x.dtype.itemsize)
    tape.emit(
        traffic(
            name, Op.POOL, Phase.FORWARD, compute=x.dtype, read=touched + grid.bytes, written=out.bytes,
            elements=visited,
        )
    )  # fmt: skip
    if out.requires_grad:
        tape.save(x)
        tape.save(grid)
        tape.emit(
            traffic(
                f"{name}_backward", Op.SCATTER, Phase.DGRAD, compute=x.dtype,
                read=out.bytes + touched + grid.bytes, elements=visited, launches=1 + x.requires_grad,
                written=grid.bytes + (x.bytes if x.requires_grad else 0),
            )
        )  # fmt: skip
    return out
