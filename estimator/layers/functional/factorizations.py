"""Dense linear algebra beyond products: triangular solves, Cholesky, LU and QR, with textbook counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.workload.build import product
from estimator.workload.kernel import GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def _factorization(tape: Tape, name: str, x: Tensor, *outs: Tensor, flops: int, steps: int) -> None:
    """Put a factorization on the tape: its columns (or rows) must wait for each other."""
    tape.emit(
        Kernel(
            name=name, op=Op.CUSTOM, phase=Phase.FORWARD, compute=x.dtype, flops=flops, bytes_read=x.bytes,
            bytes_written=sum(out.bytes for out in outs), elements=x.numel, serial_steps=steps,
        )
    )  # fmt: skip


def _product(tape: Tape, x: Tensor, shape: GemmShape) -> None:
    tape.emit(product("bmm_dgrad", Phase.DGRAD, shape, compute=x.dtype, itemsize=x.dtype.itemsize))


def _solve(tape: Tape, a: Tensor, phase: Phase, *, n: int, columns: int, batch: int) -> None:
    size = a.dtype.itemsize
    tape.emit(
        Kernel(
            name="triangular_solve", op=Op.CUSTOM, phase=phase, compute=a.dtype,
            flops=batch * n * n * columns, bytes_read=batch * (n * (n + 1) // 2 + n * columns) * size,
            bytes_written=batch * n * columns * size, elements=batch * n * columns, serial_steps=n,
        )
    )  # fmt: skip


def triangular_solve(tape: Tape, a: Tensor, b: Tensor, *, columns: int) -> Tensor:
    """Return x of ``A x = b``: n² FLOPs a right-hand side.

    Backward: the transposed solve gives b's gradient, its product with x gives A's.
    """
    n, batch = a.shape[-1], a.numel // a.shape[-1] ** 2
    _solve(tape, a, Phase.FORWARD, n=n, columns=columns, batch=batch)
    out = tape.new(b.shape, b.dtype, requires_grad=a.requires_grad or b.requires_grad)
    if out.requires_grad:
        tape.save(a)
        _solve(tape, a, Phase.DGRAD, n=n, columns=columns, batch=batch)
    if a.requires_grad:
        tape.save(out)
        _product(tape, a, GemmShape(batch, n, n, columns))
    return out


def cholesky(tape: Tape, a: Tensor) -> Tensor:
    """Return L of ``A = L L^T``: n³/3 FLOPs; backward: one product and two solves (Murray 2016)."""
    n, batch = a.shape[-1], a.numel // a.shape[-1] ** 2
    out = tape.new(a.shape, a.dtype, requires_grad=a.requires_grad)
    _factorization(tape, "cholesky", a, out, flops=batch * (n**3 // 3), steps=n)
    if a.requires_grad:
        tape.save(out)
        _product(tape, a, GemmShape(batch, n, n, n))
        for _ in range(2):
            _solve(tape, a, Phase.DGRAD, n=n, columns=n, batch=batch)
    return out


def lu(tape: Tape, a: Tensor) -> Tensor:
    """Return L and U in one square: 2n³/3 FLOPs.

    Backward: two products of factors with gradients, two solves, one product that undoes the pivoting.
    """
    n, batch = a.shape[-1], a.numel // a.shape[-1] ** 2
    out = tape.new(a.shape, a.dtype, requires_grad=a.requires_grad)
    _factorization(tape, "lu", a, out, flops=batch * (2 * n**3 // 3), steps=n)
    if a.requires_grad:
        tape.save(out)
        tape.save_bytes(batch * n * 4)  # pivots, int32
        for _ in range(3):
            _product(tape, a, GemmShape(batch, n, n, n))
        for _ in range(2):
            _solve(tape, a, Phase.DGRAD, n=n, columns=n, batch=batch)
    return out


def qr(tape: Tape, a: Tensor) -> tuple[Tensor, Tensor]:
    """Return Q ``(m, n)`` and R ``(n, n)`` for m >= n: 2n²(m - n/3) FLOPs by Householder reflections.

    Backward: three products and one solve.
    """
    *lead, m, n = a.shape
    batch = a.numel // (m * n)
    q = tape.new(a.shape, a.dtype, requires_grad=a.requires_grad)
    r = tape.new((*lead, n, n), a.dtype, requires_grad=a.requires_grad)
    _factorization(tape, "qr", a, q, r, flops=batch * (2 * n * n * (3 * m - n) // 3), steps=n)
    if a.requires_grad:
        tape.save(q)
        tape.save(r)
        for rows, columns, inner in ((n, n, n), (n, n, m), (m, n, n)):
            _product(tape, a, GemmShape(batch, rows, columns, inner))
        _solve(tape, a, Phase.DGRAD, n=n, columns=m, batch=batch)
    return q, r
