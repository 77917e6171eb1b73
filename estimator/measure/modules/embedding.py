"""Tables, learned tensors, and the values that only traced networks have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from estimator.measure.modules.pointwise import truth
from estimator.measure.modules.registry import Function, Weighted, builds, functions

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

# As language models begin. torch.nn's own tables are fifty times as wide: where one is tied to the layer that
# gives the logits, most probabilities are then too small for a normal number, and CPUs crawl over those.
_TABLE_STD = 0.02


@builds("Embedding", "EmbeddingBag")
def table(call: Call) -> nn.Module:
    """Build a table to look up."""
    built = getattr(nn, call.layer.type_name)(**call.arguments())
    with torch.no_grad():
        built.weight.normal_(0.0, _TABLE_STD)
    return built


class Parameter(Weighted):
    """A learned tensor, as it is or once for each sample."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.per_sample = call.arguments()["per_sample"]

    def forward(self, *inputs: Torch) -> Torch:
        """Give the tensor."""
        weight = self.held("weight")
        return weight.expand(inputs[0].shape[0], *weight.shape) if self.per_sample else weight


BUILD_PARAMETER = builds("Parameter")(Parameter)


class Constant(nn.Module):  # type: ignore[misc]
    """A tensor that no training changes."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        super().__init__()
        kind = getattr(torch, dtype)
        value = torch.rand(shape, dtype=kind) if kind.is_floating_point else torch.ones(shape, dtype=kind)
        self.register_buffer("value", value)

    def forward(self, *inputs: Torch) -> Torch:
        """Give the tensor."""
        del inputs
        return self.value


@builds("Constant")
def constant(call: Call) -> nn.Module:
    """Build a table of positions, a mask."""
    return Constant(call.arguments()["shape"], call.arguments()["dtype"])


functions(
    Clone=torch.clone,
    Detach=lambda x: x.detach(),
    MaskedFill=lambda x, mask: x.masked_fill(truth(mask), 0.0),
    Compare=lambda *inputs: inputs[0] > (inputs[1] if len(inputs) > 1 else 0),
    Addcmul=torch.addcmul,
    PerSample=lambda x, samples: x.expand(
        samples.shape[0], *(x.shape[1:] if x.dim() and x.shape[0] == 1 else x.shape)
    ),
)


@builds("Cast")
def cast(call: Call) -> nn.Module:
    """Build another number format."""
    dtype = getattr(torch, call.arguments()["dtype"])
    return Function(lambda x: x.to(dtype))


@builds("SlidingWindow")
def sliding_window(call: Call) -> nn.Module:
    """Build windows along a dimension as a view."""
    given = call.arguments()
    return Function(lambda x: x.unfold(given["dim"], given["size"], given["step"]))


@builds("Assign")
def assign(call: Call) -> nn.Module:
    """Build the first input with the second copied over a part of it."""
    whole, part = call.inputs[0].shape, call.inputs[1].shape
    if len(whole) == len(part):
        index: tuple[Any, ...] = tuple(slice(0, size) for size in part)
    else:
        index = (slice(None),) * (len(whole) - 1) + (0,)

    def run(x: Torch, written: Torch) -> Torch:
        x[index] = written.reshape(x[index].shape).to(x.dtype)
        return x

    return Function(run)
