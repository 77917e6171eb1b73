"""Random data of the shapes and formats a network takes, with indices that its tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.measure.framework import import_torch
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.measure.calls import NodeCall
    from estimator.measure.framework import Torch
    from estimator.networks.graph import Network
    from estimator.networks.training import Training

_TORCH_NAMES = {
    DType.FP64: "float64", DType.FP32: "float32", DType.TF32: "float32", DType.FP16: "float16",
    DType.BF16: "bfloat16", DType.INT64: "int64", DType.INT32: "int32", DType.INT8: "int8",
    DType.BOOL: "bool",
}  # fmt: skip
_FREE = 2  # an integer input that indexes nothing is 0 or 1
_TABLES = ("Embedding", "EmbeddingBag")


def torch_dtype(dtype: DType) -> Torch:
    """Return PyTorch's number format of that kind."""
    return getattr(import_torch(), _TORCH_NAMES.get(dtype, "float32"))


def index_bounds(network: Network, calls: Sequence[NodeCall | None]) -> list[int | None]:
    """Return, for each input, how many rows the smallest table (or class list) it indexes has.

    Indices reach a table directly or through layers that hand whole numbers on.
    """
    bounds: list[int | None] = [None] * len(network.inputs)
    origins: list[frozenset[int]] = [
        frozenset() if i.dtype.is_floating else frozenset({index}) for index, i in enumerate(network.inputs)
    ]
    for node, call in zip(network.nodes, calls, strict=True):
        sources = [origins[reference.node] for reference in node.inputs]
        rows = _rows_indexed(call)
        for place, limit in rows.items():
            for origin in sources[place] if place < len(sources) else ():
                bounds[origin] = min(limit, bounds[origin] or limit)
        whole = call is not None and not call.record.outputs[0].dtype.is_floating
        origins.append(frozenset().union(*sources) if whole else frozenset())
    return bounds


def _rows_indexed(call: NodeCall | None) -> dict[int, int]:
    """Return, by place of the input, the size of what that input indexes."""
    if call is None:
        return {}
    layer, name = call.node.layer, call.node.layer.type_name
    if name in _TABLES:
        return {0: int(getattr(layer, "num_embeddings", 1))}
    if name in ("Gather", "IndexSelect"):
        return {1: call.inputs[0].shape[int(getattr(layer, "dim", 0))]}
    if name in ("CrossEntropyLoss", "NLLLoss"):
        shape = call.inputs[0].shape
        return {1: shape[1 if len(shape) > 1 else 0]}
    return {}


def offsets_of(network: Network, calls: Sequence[NodeCall | None]) -> dict[int, int]:
    """Return which inputs are offsets of bags, with the number of indices they divide."""
    found = {}
    for node, call in zip(network.nodes, calls, strict=True):
        if node.layer.type_name == "EmbeddingBag" and len(node.inputs) > 1 and call is not None:
            place = node.inputs[1].node
            if place < len(network.inputs):
                found[place] = call.inputs[0].shape[0]
    return found


def random_inputs(
    network: Network, training: Training, calls: Sequence[NodeCall | None], device: Torch
) -> tuple[Torch, ...]:
    """Return a batch on the device: normal numbers, indices below their bounds, ascending offsets."""
    torch = import_torch()
    bounds, offsets = index_bounds(network, calls), offsets_of(network, calls)
    made = []
    for index, given in enumerate(network.inputs):
        shape = (training.batch, *given.shape)
        if given.dtype.is_floating:
            made.append(torch.randn(shape, device=device).to(torch_dtype(training.precision.weights)))
        elif index in offsets:
            count = made_count(shape)
            steps = torch.arange(count, device=device) * offsets[index] // count
            made.append(steps.reshape(shape).to(torch_dtype(given.dtype)))
        else:
            numbers = torch.randint(0, bounds[index] or _FREE, shape, device=device)
            made.append(numbers.to(torch_dtype(given.dtype)))
    return tuple(made)


def made_count(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape."""
    count = 1
    for size in shape:
        count *= size
    return count
