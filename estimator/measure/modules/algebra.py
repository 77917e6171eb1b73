"""Linear algebra, work of stated size, and work that cannot be spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from estimator.measure.modules.registry import Weighted, builds

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

# Sizes of the operands by argument; with all of them given, operands are drawn, one set a sample.
_OPERANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Dot": (("n",), ("n",)), "Axpy": (("n",), ("n",)), "MatVec": (("m", "n"), ("n",)),
    "MatMat": (("m", "n"), ("n", "p")), "TriangularSolve": (("n", "n"), ("n",)), "Cholesky": (("n", "n"),),
    "LU": (("n", "n"),), "QR": (("m", "n"),),
}  # fmt: skip


def dominant(a: Torch) -> Torch:
    """Return a matrix that can be factorised whatever ``a`` is: its diagonal outweighs its rows."""
    n = a.shape[-1]
    return a + n * torch.eye(n, dtype=a.dtype, device=a.device)


def solve(a: Torch, b: Torch) -> Torch:
    """Substitute; ``b`` is a vector or a matrix."""
    if b.dim() == a.dim():
        return torch.linalg.solve_triangular(dominant(a), b, upper=False)
    return torch.linalg.solve_triangular(dominant(a), b.unsqueeze(-1), upper=False).squeeze(-1)


_RUN: dict[str, Callable[..., Any]] = {
    "Dot": lambda x, y: (x.unsqueeze(-2) @ y.unsqueeze(-1)).squeeze((-2, -1)),
    "Axpy": lambda x, y: torch.add(y, x, alpha=2.0),
    "MatVec": lambda a, x: (a @ x.unsqueeze(-1)).squeeze(-1),
    "MatMat": torch.matmul,
    "TriangularSolve": solve,
    "Cholesky": lambda a: torch.linalg.cholesky(dominant(a)),
    "LU": lambda a: torch.linalg.lu_factor(dominant(a))[0],
    "QR": torch.linalg.qr,
}


class Algebra(nn.Module):  # type: ignore[misc]
    """One operation on its inputs, or on operands of its own where the layer states their sizes."""

    def __init__(self, run: Callable[..., Torch], own: list[tuple[int, ...]]) -> None:
        super().__init__()
        self.run = run
        self.count = len(own)
        for number, shape in enumerate(own):
            self.register_buffer(f"operand{number}", torch.rand(shape), persistent=False)

    def forward(self, *inputs: Torch) -> Torch:
        """Do it."""
        if self.count:
            inputs = tuple(getattr(self, f"operand{number}") for number in range(self.count))
        return self.run(*inputs)


@builds(*_OPERANDS)
def algebra(call: Call) -> nn.Module:
    """Build a textbook operation."""
    name, given = call.layer.type_name, call.arguments()
    shapes = _OPERANDS[name]
    own: list[tuple[int, ...]] = []
    if any(value is not None for value in given.values()):
        batch = call.inputs[0].shape[:1] if call.inputs else ()
        own = [(*batch, *(given[size] for size in shape)) for shape in shapes]
    return Algebra(_RUN[name], own)


class Custom(Weighted):
    """Stated work: a square product of as many FLOPs and a copy of as many bytes as the layer says.

    The product's operands hang on input and weight, so that backward makes it once for the gradient of
    each, as the layer's record assumes.
    """

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        batch = call.record.outputs[0].shape[0]
        side = max(1, round((batch * given["flops"] / 2) ** (1 / 3)))
        self.shape = given["out_shape"]
        item = call.record.outputs[0].dtype.itemsize
        self.register_buffer("operand", torch.rand(side, side), persistent=False)
        moved = max(0, batch * given["bytes"] - 3 * side * side * item) // (2 * item)
        self.register_buffer("source", torch.rand(moved), persistent=False)

    def forward(self, *inputs: Torch) -> Torch:
        """Do the stated work."""
        batch = inputs[0].shape[0] if inputs and inputs[0].dim() else 1
        left = right = self.operand
        for x in inputs:
            if x.is_floating_point():
                left = left + x.mean()
        weight = self.held("weight")
        right = right if weight is None else right + weight.mean()
        product = left @ right
        copied = self.source.clone()
        return (product.mean() + copied[:1].sum()).expand(batch, *self.shape).clone()


BUILD_CUSTOM = builds("Custom")(Custom)


class Serial(nn.Module):  # type: ignore[misc]
    """A loop whose steps wait for each other: a chain of additions, on one core.

    On a CPU a running sum is such a chain; on a GPU, which would spread a sum, each step is a kernel.
    """

    _PIECE = 1 << 16

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.register_buffer("values", torch.zeros(min(steps, self._PIECE) or 1), persistent=False)

    def forward(self, x: Torch) -> Torch:
        """Do the steps; the input passes through."""
        if self.values.device.type != "cpu":
            value = self.values[0]
            for _ in range(self.steps):
                value = value + 1.0
            return x.view_as(x)
        done = 0
        while done < self.steps:
            count = min(self._PIECE, self.steps - done)
            torch.cumsum(self.values[:count], 0)
            done += count
        return x.view_as(x)


@builds("Serial")
def serial(call: Call) -> nn.Module:
    """Build as many dependent additions as the layer states."""
    given = call.arguments()
    return Serial(given["steps"] * max(1, given["flops_per_step"]))
