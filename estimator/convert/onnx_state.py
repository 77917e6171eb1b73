"""What a conversion of an ONNX graph knows while it goes: the entries made, and the table of handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Entry, Source
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.entries import Gap

Attributes = dict[str, Any]
Node = Any  # onnx.NodeProto: the package is optional


@dataclass(slots=True)
class State:
    """Shapes and weights of the graph, and the entries made so far."""

    shapes: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]
    constants: dict[str, Any]
    count: int
    batch: int
    entries: list[Entry] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)

    def source(self, name: str) -> Source:
        """Return where a value comes from; weights become entries when a layer takes them as values."""
        if name not in self.sources:
            if name not in self.weights:
                raise InputError(f"the value {name!r} is never made")
            shape = [*self.weights[name]] or [1]
            self.entries.append(Entry(type="Parameter", args={"shape": shape}, path=name))
            self.sources[name] = Source(self.count + len(self.entries) - 1)
        return self.sources[name]

    def add(self, node: Node, kind: str, args: Attributes, inputs: list[str], weights: list[str]) -> Source:
        """Append the entry of a node; ``weights`` are the initialisers it owns."""
        entry = Entry(
            type=kind,
            args=args,
            inputs=tuple(self.source(n) for n in inputs),
            path=node.name or node.output[0],
        )
        if weights and weights[0] in self.owners:
            entry.tie = self.owners[weights[0]]
        for weight in weights:
            self.owners.setdefault(weight, len(self.entries))
        return self.step(node, entry)

    def step(self, node: Node, entry: Entry) -> Source:
        """Append an entry and let it be the node's first output."""
        self.entries.append(entry)
        source = Source(self.count + len(self.entries) - 1)
        for n, name in enumerate(node.output):
            self.sources[name] = Source(source.index, n)
        return source


HANDLERS: dict[str, Callable[[State, Node, Attributes], None]] = {}


class UnknownFormError(Exception):
    """A node has a form that no layer describes."""


def handles(
    *names: str,
) -> Callable[[Callable[[State, Node, Attributes], None]], Callable[[State, Node, Attributes], None]]:
    """Register an ONNX operator."""

    def add(
        function: Callable[[State, Node, Attributes], None],
    ) -> Callable[[State, Node, Attributes], None]:
        for name in names:
            HANDLERS[name] = function
        return function

    return add
