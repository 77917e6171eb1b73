"""Parsing: the nodes under ``layers:`` become items, with every structural error told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.document import ListNode, MapNode, Scalar
from estimator.errors import suggestion
from estimator.layers.base import LAYERS
from estimator.networks.language.binding import Argument
from estimator.networks.language.containers import CONTAINERS
from estimator.networks.language.items import (
    BlockItem,
    BrokenItem,
    ChosenItem,
    Common,
    LayerItem,
    ReuseItem,
    Written,
)
from estimator.networks.language.terms import read_term
from estimator.networks.language.tokens import CONSTANTS, KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from estimator.document import Node
    from estimator.errors import Location
    from estimator.networks.language.binding import Binder
    from estimator.networks.language.items import Item
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.terms import Term

RESERVED = ("type", "name", "from", "repeat", "var", "times", "reuse", "tie", "trainable", "training_only")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OWN_NAMES = ("prev", "in")  # what ``from`` understands besides names of layers

_NO_KEYS: Mapping[str, tuple[Scalar, Node]] = {}


def is_variable(name: str) -> bool:
    """Tell whether an expression can use a name."""
    return VARIABLE.fullmatch(name) is not None and name not in KEYWORDS and name not in CONSTANTS


class Parser:
    """Turns document nodes into items; knows the names of the blocks."""

    def __init__(self, blocks: Collection[str], binder: Binder, problems: Problems) -> None:
        self.problems = problems
        self._blocks = blocks
        self._binder = binder

    def layers(self, node: Node, key: str) -> tuple[Item, ...]:
        """Parse a list of layers; a single layer stands for a list of one."""
        if isinstance(node, ListNode):
            return tuple([self.item(item) for item in node.items])
        if isinstance(node, Scalar) and not isinstance(node.value, str):
            self.problems.add(f"'{key}' must be a list of layers", node.at)
            return ()
        return (self.item(node),)

    def item(self, node: Node) -> Item:
        """Parse one layer."""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            written = Written(node.at, _NO_KEYS, ())
            return self._typed(node.value, node.at, written, Common(at=node.at, label=node.value))
        if not isinstance(node, MapNode):
            got = "a list" if isinstance(node, ListNode) else repr(node.value)
            self.problems.add(f"a layer must be a word or a mapping with 'type', got {got}", node.at)
            return BrokenItem(common=Common(at=node.at, label="?"))
        reserved = {str(key.value): (key, value) for key, value in node.entries if key.value in RESERVED}
        rest = tuple([pair for pair in node.entries if pair[0].value not in RESERVED])
        written = Written(node.at, reserved, rest)
        if "reuse" in reserved:
            return self._reuse(written)
        if "type" not in reserved:
            return self._untyped(written)
        type_node = reserved["type"][1]
        if isinstance(type_node, Scalar) and isinstance(type_node.value, str):
            name = type_node.value
            return self._typed(name, type_node.at, written, self._common(written, name))
        self.problems.add("'type' must be the name of a layer type or block", type_node.at)
        return BrokenItem(common=self._common(written, "?"))

    def _untyped(self, written: Written) -> Item:
        """Parse a mapping without a type: layers to repeat, or a mistake."""
        names = [str(key.value) for key, _ in written.arguments]
        if "layers" in names:
            common = self._common(written, "layers")
            return CONTAINERS["Sequential"].parse(self, "Sequential", written, common)
        near = [text for name in names if (text := suggestion(name, ("type", "layers")))]
        hint = near[0] if near else "every layer has a 'type'"
        if len(names) == 1 and self._is_known(names[0]):
            hint = f"write {{type: {names[0]}, ...}}"
        self.problems.add("a layer without 'type'", written.at, hint)
        return BrokenItem(common=self._common(written, "?"))

    def _typed(self, name: str, at: Location, written: Written, common: Common) -> Item:
        if name in CONTAINERS:
            return CONTAINERS[name].parse(self, name, written, common)
        arguments = tuple(
            [
                Argument(str(key.value), key.at, read_term(node, self.problems))
                for key, node in written.arguments
            ]
        )
        tie = read_term(written.reserved["tie"][1], self.problems) if "tie" in written.reserved else None
        if "$" in name:
            chosen = read_term(Scalar(name, at), self.problems)
            label = name.strip("${} ")
            common = common.labelled(label if is_variable(label) else "layer")
            return ChosenItem(common=common, type=chosen, arguments=arguments, tie=tie)
        return self.named(name, at, common, arguments, tie)

    def named(
        self, name: str, at: Location, common: Common, arguments: tuple[Argument, ...], tie: Term | None
    ) -> Item:
        """Return the use of a layer type or block; ``at`` is where its name stands."""
        if name in self._blocks:
            if tie is not None:
                self.problems.add(f"block {name} has no weight of its own to tie", tie.at)
            return BlockItem(common=common, block=name, arguments=arguments)
        if name not in LAYERS:
            self.problems.add(f"unknown layer type {name!r}", at, self._hint(name))
            return BrokenItem(common=common)
        cls = LAYERS.get(name)
        if not self._binder.check(cls, arguments, common.at):
            return BrokenItem(common=common)
        layer = None
        if all(argument.term.is_constant for argument in arguments):
            layer = self._binder.layer(cls, arguments, {}, common.at)
            if layer is None:
                return BrokenItem(common=common)
        places = {argument.name: argument.term.at for argument in arguments}
        if tie is not None:
            places["tie"] = tie.at
        return LayerItem(common=common, cls=cls, arguments=arguments, tie=tie, layer=layer, places=places)

    def _is_known(self, name: str) -> bool:
        return name in LAYERS or name in self._blocks or name in CONTAINERS

    def _hint(self, name: str) -> str | None:
        if name.startswith("type:"):
            return f"a space is missing: 'type: {name[5:]}'"
        last = name.rsplit(".", 1)[-1]
        return f"write {last!r}" if self._is_known(last) else suggestion(name, self._known())

    def _known(self) -> list[str]:
        return [*LAYERS, *self._blocks, *CONTAINERS]

    def _reuse(self, written: Written) -> Item:
        common = self._common(written, "reuse")
        for key, _ in written.arguments:
            self.problems.add("a reused layer has the arguments of the first one", key.at, "remove it")
        for name in ("type", "tie", "trainable"):
            if name in written.reserved:
                at = written.reserved[name][0].at
                self.problems.add(f"a reused layer has the {name!r} of the first one", at, "remove it")
        target = read_term(written.reserved["reuse"][1], self.problems)
        label = str(target.constant) if target.is_constant else "reuse"
        return ReuseItem(common=common.labelled(label), target=target)

    def _common(self, written: Written, label: str) -> Common:
        reserved = written.reserved
        if not reserved or (len(reserved) == 1 and "type" in reserved):
            return Common(at=written.at, label=label)

        def term(key: str) -> Term | None:
            return read_term(reserved[key][1], self.problems) if key in reserved else None

        return Common(
            at=written.at,
            label=label,
            name=self._name(term("name")),
            sources=self._sources(reserved["from"][1]) if "from" in reserved else None,
            repeat=term("repeat"),
            var=self._variable(term("var")),
            times=term("times"),
            trainable=term("trainable"),
            training_only=term("training_only"),
        )

    def _name(self, name: Term | None) -> Term | None:
        if name is None or not name.is_constant:
            return name
        return name if check_name(name.constant, name.at, self.problems) else None

    def _variable(self, var: Term | None) -> str:
        if var is None:
            return "i"
        if isinstance(var.constant, str) and is_variable(var.constant):
            return var.constant
        self.problems.add("'var' must be a name of letters, digits and _", var.at)
        return "i"

    def _sources(self, node: Node) -> tuple[Term, ...]:
        nodes = node.items if isinstance(node, ListNode) else (node,)
        if not nodes:
            self.problems.add("'from' is empty", node.at, "name a layer, an input or prev")
        terms = []
        for one in nodes:
            source = read_term(one, self.problems)
            if source.is_constant and not isinstance(source.constant, str):
                hint = "give the layer a name and use that; the output above is prev"
                self.problems.add(f"'from' takes names, got {source.constant!r}", one.at, hint)
            else:
                terms.append(source)
        return tuple(terms)


def check_name(name: object, at: Location, problems: Problems) -> bool:
    """Report a name that ``from`` could not use; return whether it can."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        problems.add(f"{name!r} cannot be a name", at, "use letters, digits, _ and -, a letter first")
        return False
    if name in OWN_NAMES:
        problems.add(f"{name!r} cannot be a name: 'from' understands it already", at)
        return False
    return True
