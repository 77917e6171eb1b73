"""Parsing of the containers: Sequential, Residual, Parallel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from estimator.document import ListNode, Scalar
from estimator.errors import suggestion
from estimator.layers.base import LAYERS
from estimator.networks.language.binding import Argument, parameters_of
from estimator.networks.language.items import (
    BrokenItem,
    Common,
    GroupItem,
    LayerItem,
    ParallelItem,
    ResidualItem,
)
from estimator.networks.language.terms import read_term

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.document import Node
    from estimator.errors import Location
    from estimator.networks.language.items import Item, Written
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.terms import Term

_MERGES = ("Add", "Mul", "Concat", "Stack")
_NO_MERGE = "none"
_RESIDUAL_HINT = (
    "the layers and the shortcut of a Residual must end alike: add a 'shortcut:' or change stride or channels"
)


class Parser(Protocol):
    """What a container needs to parse its layers."""

    problems: Problems

    def layers(self, node: Node, key: str) -> tuple[Item, ...]:
        """Parse a list of layers."""

    def named(
        self, name: str, at: Location, common: Common, arguments: tuple[Argument, ...], tie: Term | None
    ) -> Item:
        """Return the use of a layer type."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container's keys and how it is parsed."""

    keys: tuple[str, ...]
    required: tuple[str, ...]
    build: Callable[[Parser, Written, Common, dict[str, Node]], Item]

    def parse(self, parser: Parser, name: str, written: Written, common: Common) -> Item:
        """Check the keys and build the item."""
        nodes: dict[str, Node] = {}
        for key, node in written.arguments:
            if key.value in self.keys:
                nodes[str(key.value)] = node
            else:
                hint = suggestion(str(key.value), self.keys) or f"it has {', '.join(self.keys)}"
                parser.problems.add(f"{name} has no argument {key.value!r}", key.at, hint)
        if "tie" in written.reserved:
            parser.problems.add(f"{name} has no weight of its own to tie", written.reserved["tie"][0].at)
        if len(nodes) == len(written.arguments):
            missing = [key for key in self.required if key not in nodes]
            for absent in missing:
                parser.problems.add(f"{name}: argument {absent!r} is required", written.at)
            if missing:
                return BrokenItem(common=common)
        return self.build(parser, written, common, nodes)


def _sequential(parser: Parser, _written: Written, common: Common, nodes: dict[str, Node]) -> Item:
    layers = parser.layers(nodes["layers"], "layers") if "layers" in nodes else ()
    return GroupItem(common=common, layers=layers)


def _residual(parser: Parser, _written: Written, common: Common, nodes: dict[str, Node]) -> Item:
    layers = parser.layers(nodes["layers"], "layers") if "layers" in nodes else ()
    shortcut = parser.layers(nodes["shortcut"], "shortcut") if "shortcut" in nodes else ()
    join = _merge(parser, common, nodes, "op", ("Add", "Mul", "Concat"))
    if join is None:
        return BrokenItem(common=common)
    join = replace(join, hint=_RESIDUAL_HINT)
    return ResidualItem(common=common, layers=layers, shortcut=shortcut, join=join)


def _parallel(parser: Parser, written: Written, common: Common, nodes: dict[str, Node]) -> Item:
    if ("branches" in nodes) == ("layers" in nodes):
        hint = "write branches: [[...], [...]], or repeat: n and layers: [...]"
        parser.problems.add("Parallel takes either 'branches' or 'layers' with 'repeat'", written.at, hint)
        return BrokenItem(common=common)
    branches = _branches(parser, nodes["branches"]) if "branches" in nodes else ()
    if "layers" in nodes:
        branches = (parser.layers(nodes["layers"], "layers"),)
        if common.repeat is None:
            parser.problems.add("Parallel with 'layers' needs 'repeat'", written.at)
    elif common.repeat is not None:
        parser.problems.add("Parallel with 'branches' cannot repeat", common.repeat.at, "use layers: [...]")
    merge = None
    if not _is_unmerged(nodes.get("merge")):
        merge = _merge(parser, common, nodes, "merge", _MERGES)
        if merge is None:
            return BrokenItem(common=common)
    return ParallelItem(
        common=replace(common, repeat=None), branches=branches, count=common.repeat, merge=merge
    )


def _branches(parser: Parser, node: Node) -> tuple[tuple[Item, ...], ...]:
    if not isinstance(node, ListNode) or not node.items:
        parser.problems.add("'branches' must be a list of lists of layers", node.at)
        return ()
    return tuple(parser.layers(item, "branches") for item in node.items)


def _is_unmerged(node: Node | None) -> bool:
    return isinstance(node, Scalar) and str(node.value).lower() == _NO_MERGE


def _merge(
    parser: Parser, common: Common, nodes: dict[str, Node], key: str, allowed: tuple[str, ...]
) -> LayerItem | None:
    """Return the layer that joins branches: Add for a Residual, Concat for a Parallel if not said."""
    node = nodes.get(key)
    written = (allowed[0] if key == "op" else "Concat") if node is None else getattr(node, "value", None)
    at = common.at if node is None else node.at
    by_lower = {name.lower(): name for name in allowed}
    name = by_lower.get(str(written).lower())
    if name is None:
        options = [*allowed, *([_NO_MERGE] if key == "merge" else [])]
        hint = suggestion(str(written), options)
        parser.problems.add(f"{key!r} must be one of {', '.join(options)}, got {written!r}", at, hint)
        return None
    arguments: tuple[Argument, ...] = ()
    if "dim" in nodes:
        dim = nodes["dim"]
        if "dim" not in parameters_of(LAYERS.get(name)):
            parser.problems.add(f"{name} has no 'dim'", dim.at, "remove it")
            return None
        arguments = (Argument("dim", dim.at, read_term(dim, parser.problems)),)
    item = parser.named(name, at, Common(at=common.at, label=name.lower()), arguments, None)
    return item if isinstance(item, LayerItem) else None


CONTAINERS = {
    "Sequential": Container(("layers",), ("layers",), _sequential),
    "Residual": Container(("layers", "shortcut", "op", "dim"), ("layers",), _residual),
    "Parallel": Container(("branches", "layers", "merge", "dim"), (), _parallel),
}
