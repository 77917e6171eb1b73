"""ONNX's recurrent operators, which run time first and return (steps, directions, batch, features)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.entries import Entry, Source
from estimator.convert.onnx_state import UnknownFormError, handles

if TYPE_CHECKING:
    from estimator.convert.onnx_state import Attributes, Node, State


@handles("LSTM", "GRU", "RNN")
def _recurrent(state: State, node: Node, attributes: Attributes) -> None:
    """Append the layer, and the turns that give its output the order of ONNX."""
    weight = node.input[1]
    if weight not in state.weights:
        raise UnknownFormError("a weight that is computed")
    if attributes.get("layout", 0):
        raise UnknownFormError("batch first")
    directions = state.weights[weight][0]
    hidden = attributes.get("hidden_size") or state.weights[node.input[2]][-1]
    biased = len(node.input) > 3 and bool(node.input[3])  # noqa: PLR2004 - input, weights, recurrent weights
    args: Attributes = {"hidden_size": hidden, "batch_first": False}
    args |= {} if biased else {"bias": False}
    args |= {"bidirectional": True} if directions > 1 else {}
    owned = [n for n in node.input[1:4] if n]
    state.add(node, node.op_type, args, [node.input[0]], owned)
    whole = state.sources[node.output[0]]
    for number, name in enumerate(node.output):
        if name and number:
            state.sources[name] = Source(whole.index, number)
    split = _step(state, node, "Unflatten", {"dim": 2, "unflattened_size": [directions, hidden]}, whole)
    state.sources[node.output[0]] = _step(state, node, "Permute", {"dims": [0, 2, 1, 3]}, split)


def _step(state: State, node: Node, kind: str, args: Attributes, source: Source) -> Source:
    state.entries.append(Entry(type=kind, args=args, inputs=(source,), path=node.name or node.output[0]))
    return Source(state.count + len(state.entries) - 1)
