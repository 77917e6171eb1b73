"""Layers that reduce dimensions or pick entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.layers.reduction import Reduction, chosen
from estimator.layers.tape import Tensor
from estimator.measure.modules.registry import Function, builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_REDUCTIONS = {
    "Mean": torch.mean, "Sum": torch.sum, "Max": torch.amax, "Min": torch.amin, "Var": torch.var,
    "Std": torch.std, "Norm": lambda x, dims, keepdim: torch.linalg.vector_norm(x, 2, dims, keepdim),
}  # fmt: skip


def _dims(call: Call) -> tuple[int, ...]:
    """Return the dimensions to reduce, counted from the front."""
    first = call.inputs[0]
    x = Tensor(first.shape, first.dtype, first.requires_grad, 0)
    if isinstance(call.layer, Reduction):
        return chosen(call.layer, x)
    dim = call.arguments()["dim"]
    rank = len(first.shape)
    if dim is None:
        return tuple(range(1, rank))
    return tuple(d % rank for d in ((dim,) if isinstance(dim, int) else dim))


@builds(*_REDUCTIONS)
def reduction(call: Call) -> nn.Module:
    """Build one value along dimensions."""
    reduce, dims = _REDUCTIONS[call.layer.type_name], _dims(call)
    keepdim = call.arguments()["keepdim"]
    return Function(lambda x: reduce(x, dims, keepdim=keepdim))


@builds("ArgMax", "ArgMin")
def arg_extreme(call: Call) -> nn.Module:
    """Build the index of an extreme, along one dimension or several joined into one."""
    dims, keepdim = _dims(call), call.arguments()["keepdim"]
    find = torch.argmax if call.layer.type_name == "ArgMax" else torch.argmin
    if len(dims) == 1:
        return Function(lambda x: find(x, dims[0], keepdim))

    def run(x: Torch) -> Torch:
        joined = x.movedim(dims, tuple(range(-len(dims), 0))).flatten(-len(dims))
        index = find(joined, -1)
        for dim in dims if keepdim else ():
            index = index.unsqueeze(dim)
        return index

    return Function(run)


@builds("Normalize")
def normalize(call: Call) -> nn.Module:
    """Build the input divided by its norm."""
    given = call.arguments()
    return Function(lambda x: F.normalize(x, given["p"], given["dim"], given["eps"]))


@builds("Cumsum")
def cumsum(call: Call) -> nn.Module:
    """Build running sums."""
    dim = call.arguments()["dim"]
    return Function(lambda x: torch.cumsum(x, dim))


@builds("Gather")
def gather(call: Call) -> nn.Module:
    """Build entries by an index, whose values are taken within the dimension."""
    dim = call.arguments()["dim"]

    def run(x: Torch, index: Torch) -> Torch:
        if index.dtype is not torch.int64:
            index = index.long() % x.shape[dim]
        return torch.gather(x, dim, index)

    return Function(run)


class IndexSelect(nn.Module):  # type: ignore[misc]
    """Fixed random indices of a dimension, or those given."""

    def __init__(self, dim: int, size: int, count: int | None) -> None:
        super().__init__()
        self.dim = dim
        if count is not None:
            self.register_buffer("index", torch.randint(0, size, (count,)))

    def forward(self, x: Torch, index: Torch = None) -> Torch:
        """Look the entries up."""
        return torch.index_select(x, self.dim, self.index if index is None else index.flatten())


@builds("IndexSelect")
def index_select(call: Call) -> nn.Module:
    """Build some indices of a dimension."""
    dim = call.arguments()["dim"]
    count = call.arguments()["count"] if len(call.inputs) == 1 else None
    return IndexSelect(dim, call.shape[dim], count)
