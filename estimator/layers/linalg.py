"""Linear algebra with textbook counts: sizes come from the inputs, or are given and then need none.

With sizes given, the operation is done once a sample on operands of its own, and the inputs only say how
many samples there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.layers.arguments import Positive
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import factorizations
from estimator.layers.functional.pointwise import broadcast
from estimator.layers.functional.products import matmul
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def operands(
    layer: Layer, tape: Tape, inputs: tuple[Tensor, ...], shapes: tuple[tuple[int | None, ...], ...]
) -> tuple[Tensor, ...]:
    """Return the inputs, or new values of the given shapes (a batch of them) where all sizes are given."""
    sizes = [size for shape in shapes for size in shape]
    if any(size is not None for size in sizes):
        if None in sizes:
            raise LayerError(f"{layer.type_name}: give all sizes, or none and the operands as inputs")
        batch = inputs[0].shape[:1] if inputs else ()
        known = [tuple(size for size in shape if size is not None) for shape in shapes]
        return tuple(
            tape.new((*batch, *shape), tape.policy.activations, requires_grad=False) for shape in known
        )
    if len(inputs) != len(shapes):
        raise LayerError(f"{layer.type_name}: needs {len(shapes)} inputs, or its sizes as arguments")
    for x, shape in zip(inputs, shapes, strict=True):
        if len(x.shape) < len(shape):
            raise LayerError(f"{layer.type_name}: the input {list(x.shape)} has too few dimensions")
    return inputs


def square(layer: Layer, a: Tensor) -> None:
    """Refuse a matrix that is not square."""
    if a.shape[-1] != a.shape[-2]:
        raise LayerError(f"{layer.type_name}: needs a square matrix, got {list(a.shape)}")


@register("Dot", Example(((4, 16), (4, 16))))
@dataclass(frozen=True, slots=True, kw_only=True)
class Dot(Layer):
    """``(*, n), (*, n) -> (*)``: 2n FLOPs."""

    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply and sum."""
        x, y = operands(self, tape, inputs, ((self.n,), (self.n,)))
        if x.shape != y.shape:
            raise LayerError(f"Dot: shapes {list(x.shape)} and {list(y.shape)} do not match")
        row, column = tape.view(x, (*x.shape[:-1], 1, x.shape[-1])), tape.view(y, (*y.shape, 1))
        return tape.view(matmul(tape, row, column), x.shape[:-1])


@register("Axpy", Example(((4, 16), (4, 16))))
@dataclass(frozen=True, slots=True, kw_only=True)
class Axpy(Layer):
    """``a x + y`` of vectors ``(*, n)``: 2n FLOPs in one kernel."""

    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Scale and add."""
        x, y = operands(self, tape, inputs, ((self.n,), (self.n,)))
        shape = broadcast(x.shape, y.shape, "Axpy")
        out = tape.new(shape, x.dtype, requires_grad=x.requires_grad or y.requires_grad)
        kernel = traffic(
            "axpy", Op.ELEMENTWISE, Phase.FORWARD, compute=x.dtype, read=x.bytes + y.bytes, written=out.bytes,
            elements=out.numel, flops_per_element=0,
        )  # fmt: skip
        tape.emit(replace(kernel, flops=2 * out.numel))
        if x.requires_grad:
            backward = traffic(
                "mul_scalar_backward", Op.ELEMENTWISE, Phase.DGRAD, compute=x.dtype, read=out.bytes,
                written=x.bytes, elements=out.numel,
            )  # fmt: skip
            tape.emit(backward)
        return out


@register("MatVec", Example(((4, 6, 8), (4, 8))))
@dataclass(frozen=True, slots=True, kw_only=True)
class MatVec(Layer):
    """``(*, m, n), (*, n) -> (*, m)``: 2mn FLOPs."""

    m: Positive | None = None
    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply."""
        a, x = operands(self, tape, inputs, ((self.m, self.n), (self.n,)))
        out = matmul(tape, a, tape.view(x, (*x.shape, 1)))
        return tape.view(out, out.shape[:-1])


@register("MatMat", Example(((4, 6, 8), (4, 8, 5))))
@dataclass(frozen=True, slots=True, kw_only=True)
class MatMat(Layer):
    """``(*, m, n), (*, n, p) -> (*, m, p)``: 2mnp FLOPs."""

    m: Positive | None = None
    n: Positive | None = None
    p: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply."""
        a, b = operands(self, tape, inputs, ((self.m, self.n), (self.n, self.p)))
        return matmul(tape, a, b)


@register("TriangularSolve", Example(((4, 6, 6), (4, 6))))
@dataclass(frozen=True, slots=True, kw_only=True)
class TriangularSolve(Layer):
    """``(*, n, n), (*, n) or (*, n, k) -> same as the second``: n² FLOPs a right-hand side."""

    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Substitute."""
        a, b = operands(self, tape, inputs, ((self.n, self.n), (self.n,)))
        square(self, a)
        is_matrix = len(b.shape) == len(a.shape)
        if b.shape[-2 if is_matrix else -1] != a.shape[-1]:
            raise LayerError(f"TriangularSolve: shapes {list(a.shape)} and {list(b.shape)} do not match")
        return factorizations.triangular_solve(tape, a, b, columns=b.shape[-1] if is_matrix else 1)


@register("Cholesky", Example(((4, 6, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class Cholesky(Layer):
    """``(*, n, n) -> (*, n, n)``: n³/3 FLOPs."""

    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Factorize."""
        (a,) = operands(self, tape, inputs, ((self.n, self.n),))
        square(self, a)
        return factorizations.cholesky(tape, a)


@register("LU", Example(((4, 6, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class LU(Layer):
    """``(*, n, n) -> (*, n, n)``, both factors in one matrix: 2n³/3 FLOPs."""

    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Factorize."""
        (a,) = operands(self, tape, inputs, ((self.n, self.n),))
        square(self, a)
        return factorizations.lu(tape, a)


@register("QR", Example(((4, 8, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class QR(Layer):
    """``(*, m, n) -> (*, m, n), (*, n, n)`` for m >= n: 2n²(m - n/3) FLOPs."""

    m: Positive | None = None
    n: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Factorize."""
        (a,) = operands(self, tape, inputs, ((self.m, self.n),))
        if a.shape[-2] < a.shape[-1]:
            raise LayerError(f"QR: needs at least as many rows as columns, got {list(a.shape)}")
        return factorizations.qr(tape, a)
