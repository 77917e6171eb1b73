"""The calls of a network's layers with the shapes they get, as a module has to be told them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.layers.base import record
from estimator.layers.tape import Signature, Tensor

if TYPE_CHECKING:
    from estimator.layers.tape import Record
    from estimator.networks.graph import Network, Node
    from estimator.networks.training import Training


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCall:
    """A node of the graph, the shapes it gets, and what its layer's record says; None where it is skipped."""

    node: Node
    inputs: tuple[Signature, ...]
    record: Record


def node_calls(network: Network, training: Training) -> tuple[NodeCall | None, ...]:
    """Return a call for every node; inference skips losses and auxiliary heads and what hangs on them.

    The network has been lowered before: its shapes fit.
    """
    setting = training.setting()
    values: list[tuple[Tensor, ...] | None] = [
        (
            Tensor(
                (training.batch, *i.shape),
                training.precision.weights if i.dtype.is_floating else i.dtype,
                requires_grad=False,
                storage=-1 - index,
            ),
        )
        for index, i in enumerate(network.inputs)
    ]
    calls: list[NodeCall | None] = []
    for node in network.nodes:
        sources = [values[reference.node] for reference in node.inputs]
        if (node.training_only and not training.training) or any(source is None for source in sources):
            calls.append(None)
            values.append(None)
            continue
        tensors = [
            source[reference.output]
            for source, reference in zip(sources, node.inputs, strict=True)
            if source is not None
        ]
        inputs = tuple(Signature(t.shape, t.dtype, t.requires_grad, t.strides) for t in tensors)
        left = record(node.layer, inputs, setting if node.trainable else replace(setting, trainable=False))
        calls.append(NodeCall(node=node, inputs=inputs, record=left))
        values.append(left.outputs)
    return tuple(calls)
