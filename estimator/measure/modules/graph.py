"""A whole network as one PyTorch module: its layers' modules, called in the order of the graph."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from torch import nn

from estimator.errors import MeasurementError
from estimator.measure.modules.registry import Call, build

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from estimator.measure.calls import NodeCall
    from estimator.measure.framework import Torch
    from estimator.networks.graph import Network
    from estimator.networks.training import Training


class GraphModule(nn.Module):  # type: ignore[misc]
    """Runs the calls of a network and returns the sum of its losses, or of its outputs' means.

    ``watch`` is entered around each layer call and told its outputs, for times by layer; a value is let go
    after its last use, as local variables of model code are.
    """

    def __init__(self, network: Network, calls: Sequence[NodeCall | None], training: Training) -> None:
        super().__init__()
        self.network = network
        self.calls = calls
        self.steps = nn.ModuleList(_modules(network, calls, training))
        self.watch: Watch | None = None
        self.ends = _ends(network, calls)
        self._last_use = _last_uses(network, calls, self.ends)

    def forward(self, *inputs: Torch) -> Torch:
        """Run all layers; returns one number."""
        values: list[Any] = [(x,) for x in inputs]
        watch = self.watch
        for index, (node, call) in enumerate(zip(self.network.nodes, self.calls, strict=True)):
            if call is None:
                values.append(None)
                continue
            arguments = [values[r.node][r.output] for r in node.inputs]
            # In-place layers change what an input's gradient comes from: it is noted before the call.
            sources = [x.grad_fn for x in arguments] if watch else []
            with watch.forward(index) if watch else nullcontext():
                out = self._call(index, node.times, arguments)
            results = out if isinstance(out, tuple) else tuple(out) if isinstance(out, list) else (out,)
            if watch:
                watch.leaves(index, sources, results)
            values.append(results)
            for gone in self._last_use[index]:
                values[gone] = None
            del arguments, sources, out, results
        ends = [value for end in self.ends for value in values[end] if value.is_floating_point()]
        if not ends:
            raise MeasurementError(f"{self.network.name} ends in nothing that a gradient could come from")
        return sum((_number(end) for end in ends[1:]), start=_number(ends[0]))

    def _call(self, index: int, times: int, arguments: list[Torch]) -> Torch:
        """Call a layer, again on what it left where it runs several times and its output fits its input."""
        out = self.steps[index](*arguments)
        for _ in range(times - 1):
            first = out[0] if isinstance(out, tuple) else out
            fits = bool(arguments) and first.shape == arguments[0].shape and first.dtype == arguments[0].dtype
            out = self.steps[index](*([first, *arguments[1:]] if fits else arguments))
        return out


class Watch(Protocol):
    """What a run of the layers can be watched by."""

    def forward(self, index: int) -> AbstractContextManager[Torch]:
        """Return the context that a layer's forward runs in."""

    def leaves(self, index: int, sources: Sequence[Torch], outputs: Sequence[Torch]) -> None:
        """Take note of a layer's outputs, and of the backward nodes its inputs came from."""


def _number(end: Torch) -> Torch:
    return end if end.dim() == 0 else end.float().mean()


def _modules(network: Network, calls: Sequence[NodeCall | None], training: Training) -> list[nn.Module]:
    """Build each node's module; a shared layer is the same module, a tied weight the same parameter."""
    modules: list[nn.Module] = []
    for node, call in zip(network.nodes, calls, strict=True):
        if call is None:
            modules.append(nn.Identity())
            continue
        if node.shares is not None:
            modules.append(modules[node.shares])
            continue
        built = build(
            Call(layer=node.layer, inputs=call.inputs, record=call.record, setting=training.setting())
        )
        if not node.trainable:
            built.requires_grad_(requires_grad=False)
        modules.append(built)
    for node, module in zip(network.nodes, modules, strict=True):
        if node.tied is not None:
            module.weight = modules[node.tied].weight
    return modules


def _ends(network: Network, calls: Sequence[NodeCall | None]) -> list[int]:
    """Return the values that nothing uses: losses, or the network's outputs where it has none."""
    first = len(network.inputs)
    used = {reference.node for node in network.nodes for reference in node.inputs}
    ran = [first + i for i, call in enumerate(calls) if call is not None]
    losses = [
        first + i for i, call in enumerate(calls)
        if call is not None and call.node.layer.type_name.endswith("Loss") and first + i not in used
    ]  # fmt: skip
    return losses or [value for value in ran if value not in used] or ran[-1:]


def _last_uses(network: Network, calls: Sequence[NodeCall | None], ends: Sequence[int]) -> list[list[int]]:
    """Return, by node, the values that are not needed after it."""
    first = len(network.inputs)
    last: dict[int, int] = {}
    for index, node in enumerate(network.nodes):
        if calls[index] is not None:
            last |= {reference.node: index for reference in node.inputs}
    gone: list[list[int]] = [[] for _ in network.nodes]
    for value, index in last.items():
        if value >= first and value not in ends:
            gone[index].append(value)
    return gone
