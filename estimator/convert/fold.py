"""Folding: a flat list of calls becomes nested items, so that what the module repeats is written once.

A module call whose values leave it only through its last layer is closed: it can be a block. Closed calls
of one class and structure become one block; the numbers in which they differ become its arguments.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from estimator.convert.entries import Converted, Entry

SMALLEST_BLOCK = 3  # layers; naming less makes a text longer

# Arguments of convolutions and pooling that torch has defaults for: with them all uses have one structure.
DEFAULTS: dict[str, dict[str, Any]] = {
    "Conv": {"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
    "FunctionalConv": {"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
}

# Classes that only hold others: their name says nothing, so they become no blocks.
_CONTAINERS = frozenset({"Sequential", "ModuleList", "SequentialCell"})

Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """Stands for an argument of the block it occurs in; ``factor`` times it."""

    name: str
    factor: int = 1
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class Use:
    """One input of an item: output ``output`` of item ``item`` of its list, or input ``output`` of the list.

    ``item`` is None for inputs of the list: of the block's, or the network's inputs.
    """

    item: Item | None
    output: int = 0


@dataclass(slots=True, eq=False)
class Item:
    """A layer, or a module call with layers inside (``body``); equality is identity.

    ``result`` is the entry whose outputs are the item's; ``defaults`` the arguments that need no writing.
    """

    type: str
    args: dict[str, Any] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    entry: Entry | None = None
    body: list[Item] | None = None
    defaults: dict[str, Any] = field(default_factory=dict)
    result: int = -1
    dissolves: bool = False
    path: str = ""


@dataclass(slots=True)
class BlockText:
    """A block: its arguments with defaults (None: required), and its items."""

    name: str
    arguments: dict[str, Any]
    items: list[Item]


@dataclass(slots=True)
class Folded:
    """A network as nested items and the blocks they use."""

    items: list[Item]
    blocks: list[BlockText]
    outputs: list[Use]


@dataclass(slots=True)
class _Scope:
    """A module call with what it did, in order: entries by index, and other module calls."""

    index: int
    children: list[int | _Scope] = field(default_factory=list)

    def entries(self) -> Iterator[int]:
        for child in self.children:
            if isinstance(child, int):
                yield child
            else:
                yield from child.entries()


def fold(network: Converted, *, blocks: bool = True) -> Folded:
    """Return the network folded; without ``blocks`` as a flat list."""
    return _Folder(network).run(blocks=blocks)


def _tree(entries: list[Entry]) -> _Scope:
    """Return the calls nested by module; only calls in a row belong together."""
    root = _Scope(-1)
    open_scopes = [root]
    for index, entry in enumerate(entries):
        depth = 0
        while (
            depth < len(entry.scope)
            and depth + 1 < len(open_scopes)
            and open_scopes[depth + 1].index == entry.scope[depth]
        ):
            depth += 1
        del open_scopes[depth + 1 :]
        for scope_index in entry.scope[depth:]:
            scope = _Scope(scope_index)
            open_scopes[-1].children.append(scope)
            open_scopes.append(scope)
        open_scopes[-1].children.append(index)
    return root


class _Folder:
    def __init__(self, network: Converted) -> None:
        self.network = network
        self.first = len(network.inputs)
        self.items: dict[int, Item] = {}
        self.last_use: dict[int, int] = {}
        self.outputs_used: dict[int, set[int]] = defaultdict(set)
        for index, entry in enumerate(network.entries):
            for source in entry.inputs:
                if source.index >= self.first:
                    self.last_use[source.index - self.first] = index
                    self.outputs_used[source.index - self.first].add(source.output)
        for source in network.outputs:
            if source.index >= self.first:
                self.last_use[source.index - self.first] = len(network.entries)
        self.shared = set()
        for index, entry in enumerate(network.entries):
            for other in (entry.reuse, entry.tie):
                if other is not None:
                    self.shared |= {index, other}

    def run(self, *, blocks: bool) -> Folded:
        entries = self.network.entries
        root = _tree(entries) if blocks else _Scope(-1, list(range(len(entries))))
        items = self._items(root)
        found: list[BlockText] = []
        if blocks:
            found = _Blocks(items).run()
        by_entry = {item.result: item for item in items}
        outputs = [
            Use(None, s.index) if s.index < self.first else Use(by_entry[s.index - self.first], s.output)
            for s in self.network.outputs
        ]
        return Folded(items, found, outputs)

    def _items(self, scope: _Scope) -> list[Item]:
        """Return the items of a module call, closed calls inside as items with a body."""
        made: list[Item] = []
        for child in scope.children:
            if isinstance(child, int):
                made.append(self._leaf(child))
                continue
            inner = self._items(child)
            closed = self._closed(child, inner)
            made.extend([closed] if closed else inner)
        self._link(made)
        return made

    def _leaf(self, index: int) -> Item:
        entry = self.network.entries[index]
        usual = DEFAULTS.get(entry.type.rstrip("123d"), {})
        item = Item(
            entry.type,
            _ordered(usual | entry.args),
            entry=entry,
            defaults=usual,
            result=index,
            path=entry.path,
        )
        self.items[index] = item
        return item

    def _link(self, items: list[Item]) -> None:
        """Say where each item's inputs come from among its neighbours (bodies are linked already)."""
        owner = {item.result: item for item in items}
        for item in items:
            if item.entry is not None:
                item.uses = [self._use(s.index, s.output, owner) for s in item.entry.inputs]
            else:
                item.uses = [
                    Use(owner.get(u.item.result, u.item), u.output) if u.item is not None else u
                    for u in item.uses
                ]

    def _use(self, index: int, output: int, owner: dict[int, Item]) -> Use:
        if index < self.first:
            return Use(None, index)
        result = index - self.first
        return Use(owner.get(result, self.items[result]), output)

    def _closed(self, scope: _Scope, inner: list[Item]) -> Item | None:
        """Return a module call as one item, or None where more than one value leaves it."""
        indices = list(scope.entries())
        if self.network.scopes[scope.index][1] in _CONTAINERS:
            return None
        if len(indices) < SMALLEST_BLOCK or any(i in self.shared for i in indices):
            return None
        first, last = indices[0], indices[-1]
        if indices != list(range(first, last + 1)):
            return None
        if any(self.last_use.get(i, -1) > last for i in indices[:-1]):
            return None
        if self.outputs_used[last] - {0}:
            return None
        owner = {id(item) for item in inner}
        outside: list[tuple[int, int]] = []
        uses: list[Use] = []
        for item in inner:
            for number, use in enumerate(item.uses):
                if use.item is not None and id(use.item) in owner:
                    continue
                key = (id(use.item), use.output)
                if key not in outside:
                    outside.append(key)
                    uses.append(use)
                item.uses[number] = Use(None, outside.index(key))
        path, name = self.network.scopes[scope.index]
        return Item(name, uses=uses, body=inner, result=last, path=path)


def structure(items: list[Item]) -> Key:
    """Return what makes two lists of items the same but for numbers."""
    position = {id(item): n for n, item in enumerate(items)}
    return tuple(
        (
            item.type if item.body is None else structure(item.body),
            tuple(sorted((k, _fixed(v)) for k, v in item.args.items())),
            tuple((position[id(u.item)] - n if u.item is not None else "in", u.output) for u in item.uses),
            (item.entry.trainable, item.entry.training_only) if item.entry else None,
        )
        for n, item in enumerate(items)
    )


def _fixed(value: object) -> object:
    """Return what of an argument belongs to the structure: text and truth, and the length of lists.

    Formulas of the image size count as numbers.
    """
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, list):
        return ("list", len(value))
    return "number"


def slots(items: list[Item]) -> Iterator[tuple[Item, str, int | None]]:
    """Give every number in every layer, in order: item, argument, place in a list."""
    for item in items:
        for key in sorted(item.args):
            value = item.args[key]
            if isinstance(value, list):
                for n in range(len(value)):
                    yield item, key, n
            elif not isinstance(value, bool | str) and value is not None:
                yield item, key, None


def read_slot(slot: tuple[Item, str, int | None]) -> Any:  # noqa: ANN401 - a number or a list's element
    """Return the value of a slot."""
    item, key, place = slot
    return item.args[key] if place is None else item.args[key][place]


def write_slot(slot: tuple[Item, str, int | None], value: object) -> None:
    """Replace the value of a slot."""
    item, key, place = slot
    if place is None:
        item.args[key] = value
    else:
        item.args[key] = [*item.args[key][:place], value, *item.args[key][place + 1 :]]


class _Blocks:
    """Decides which closed module calls become blocks, innermost first, and dissolves the others."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.names: Counter[str] = Counter()
        self.made: list[BlockText] = []

    def run(self) -> list[BlockText]:
        depth = _depth(self.items)
        for _ in range(depth):
            self._innermost()
        return self.made

    def _innermost(self) -> None:
        """Make blocks of the module calls that hold only layers by now."""
        groups: dict[Key, list[Item]] = defaultdict(list)
        for holder in _lists(self.items):
            for item in holder:
                if item.body is not None and _depth(item.body) == 0:
                    groups[(item.type, structure(item.body))].append(item)
        chosen = []
        for (name, _), members in groups.items():
            if len(members) > 1 and len(members[0].body or ()) >= SMALLEST_BLOCK:
                chosen.append((str(name), members))
            else:
                for member in members:
                    member.dissolves = True
        for name, members in chosen:
            self._make(name, members)
        for holder in list(_lists(self.items)):
            _dissolve(holder)

    def _make(self, class_name: str, members: list[Item]) -> None:
        """Turn module calls of one structure into uses of one block."""
        bodies = [member.body or [] for member in members]
        values = _parameters(bodies)
        name = _snake(class_name)
        self.names[name] += 1
        if self.names[name] > 1:
            name = f"{name}_{self.names[name]}"
        usual = {a: _default(a, vector) for a, vector in values.items()}
        self.made.append(BlockText(name, usual, bodies[0]))
        for n, member in enumerate(members):
            member.body = None
            member.type = name
            member.args = {a: vector[n] for a, vector in values.items()}
            member.defaults = {a: value for a, value in usual.items() if value is not None}


def _default(name: str, vector: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a number
    """Return the value of most uses, where it is that of more than half of them; a width is always said."""
    if name.startswith(_SAID):
        return None
    value, count = Counter(vector).most_common(1)[0]
    return value if count * 2 > len(vector) else None


def _parameters(bodies: list[list[Item]]) -> dict[str, tuple[Any, ...]]:
    """Replace the numbers that differ between bodies by arguments in the first of them.

    Numbers that change together are one argument; one that is always a multiple of another is written so.
    """
    columns = [list(slots(body)) for body in bodies]
    values: dict[str, tuple[Any, ...]] = {}
    names: dict[tuple[Any, ...], str] = {}
    for row in zip(*columns, strict=True):
        vector = tuple(read_slot(slot) for slot in row)
        if all(v == vector[0] for v in vector):
            continue
        if vector not in names:
            related = _multiple(vector, names)
            if related is not None:
                write_slot(row[0], related)
                continue
            name = _argument_name(row[0], values)
            names[vector] = name
            values[name] = vector
        write_slot(row[0], Argument(names[vector]))
    return values


def _multiple(vector: tuple[Any, ...], names: dict[tuple[Any, ...], str]) -> Argument | None:
    """Return ``vector`` as a whole multiple or part of a known argument, if it is one throughout."""
    if not all(isinstance(v, int) and v > 0 for v in vector):
        return None
    for other, name in names.items():
        if not all(isinstance(v, int) and v > 0 for v in other):
            continue
        one, two = vector[0], other[0]
        if all(v * two == one * o for v, o in zip(vector, other, strict=True)):
            if one % two == 0:
                return Argument(name, one // two)
            if two % one == 0:
                return Argument(name, 1, two // one)
    return None


_SAID = ("width", "features", "heads", "size", "part")
_SHORT = {
    "out_channels": "width", "out_features": "features", "kernel_size": "kernel", "num_heads": "heads",
    "shape": "size", "sizes": "part", "num_embeddings": "rows", "embedding_dim": "dim_",
    "hidden_size": "hidden",
}  # fmt: skip


def _argument_name(slot: tuple[Item, str, int | None], taken: Iterable[str]) -> str:
    _, key, _ = slot
    base = _SHORT.get(key, key)
    name, n = base, 1
    known = set(taken)
    while name in known or name in ("i", "in", "prev", "if", "else", "and", "or", "not", "type", "name"):
        n += 1
        name = f"{base}{n}"
    return name


def _depth(items: list[Item]) -> int:
    return max((1 + _depth(item.body) for item in items if item.body is not None), default=0)


def _lists(items: list[Item]) -> Iterator[list[Item]]:
    """Give every list of items, innermost last."""
    yield items
    for item in items:
        if item.body is not None:
            yield from _lists(item.body)


def _dissolve(holder: list[Item]) -> None:
    """Put the body of each item that becomes no block in its place."""
    for item in [i for i in holder if i.dissolves]:
        body = item.body or []
        at = next(n for n, i in enumerate(holder) if i is item)
        for inner in body:
            inner.uses = [item.uses[u.output] if u.item is None else u for u in inner.uses]
        holder[at : at + 1] = body
        for other in holder:
            other.uses = [Use(body[-1], u.output) if u.item is item else u for u in other.uses]
        item.dissolves = False


_ORDER = ("out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")


def _ordered(args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments in torch's order."""
    return {k: args[k] for k in _ORDER if k in args} | args


def _snake(name: str) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words)
    return re.sub(r"[^A-Za-z0-9_]", "_", words).lower()
