"""Writes a converted network as our YAML, as a person would: one layer a line, names only where wired."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from estimator.convert.fold import Argument, Use, fold
from estimator.convert.nest import SOURCES, Joined, Nester, Repeated
from estimator.convert.sizes import Formula

if TYPE_CHECKING:
    from estimator.convert.entries import Converted
    from estimator.convert.fold import BlockText, Item

WIDTH = 110
_RESERVED = frozenset({"prev", "in"})
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"})


class _List:
    """Turns the items of one scope (the network, or a block) into plain lists and mappings."""

    def __init__(self, items: list[Item], inputs: list[str], kept: set[int]) -> None:
        self.inputs = inputs
        self.names: dict[int, str] = {}
        self.taken = set(inputs) | _RESERVED
        single = len(inputs) == 1
        self.items = Nester(items, kept, single).run()
        self.entries = {item.result: item for item in _every(self.items)}
        self.wanted: set[int] = set()
        self._want(self.items, Use(None) if single else None)

    def _want(self, items: list[Item], flow: Use | None) -> Use | None:
        """Note the items that others refer to by name."""
        for item in items:
            if isinstance(item, Joined):
                for use in item.uses:
                    self._note(use, flow)
                source = item.uses[0]
                for branch in item.branches:
                    self._want(branch, source)
            elif isinstance(item, Repeated):
                self._want(item.layers, flow)
            else:
                if not self._flows(item, flow):
                    for use in item.uses:
                        self._note(use, flow)
                for other in (item.entry.reuse, item.entry.tie) if item.entry else ():
                    if other is not None:
                        self.wanted.add(other)
            flow = Use(item)
        return flow

    def _note(self, use: Use, flow: Use | None) -> None:
        if use.item is not None and not (flow is not None and use.item is flow.item):
            self.wanted.add(use.item.result)

    @staticmethod
    def _flows(item: Item, flow: Use | None) -> bool:
        """Tell whether an item reads just what flows into it (or makes a value without input)."""
        if not item.uses:
            return True
        return item.type not in SOURCES and flow is not None and len(item.uses) == 1 and item.uses[0] == flow

    def name(self, item: Item) -> str:
        """Return the name of an item, made from its path in the module."""
        if item.result not in self.names:
            last = [part for part in item.path.split(".") if part]
            base = re.sub(
                r"[^A-Za-z0-9_]", "_", "_".join(last[-2:] if last and last[-1].isdigit() else last[-1:])
            )
            if not base or not base[0].isalpha():
                base = item.type.lower() if not base else f"x{base}"
            name, n = base, 1
            while name in self.taken:
                n += 1
                name = f"{base}_{n}"
            self.taken.add(name)
            self.names[item.result] = name
        return self.names[item.result]

    def source(self, use: Use, flow: Use | None) -> str:
        """Return what ``from`` says for one input."""
        if use.item is None:
            text = self.inputs[use.output] if use.output < len(self.inputs) else f"in.{use.output}"
            return "prev" if flow == use and text != "in" else text
        text = "prev" if flow is not None and use.item is flow.item else self.name(use.item)
        return f"{text}.{use.output}" if use.output else text

    def plain(self) -> list[Any]:
        """Return the whole list."""
        return self._plain(self.items, Use(None) if len(self.inputs) == 1 else None)

    def _plain(self, items: list[Item], flow: Use | None) -> list[Any]:
        made = []
        for item in items:
            made.append(self._one(item, flow))
            flow = Use(item)
        return made

    def _one(self, item: Item, flow: Use | None) -> Any:  # noqa: ANN401 - a word or a mapping
        plain: dict[str, Any] = {}
        if isinstance(item, Repeated):
            inner = self._plain(item.layers, flow)
            if len(inner) == 1:
                only = inner[0] if isinstance(inner[0], dict) else {"type": inner[0]}
                if "repeat" not in only and "name" not in only:
                    plain = {"type": only["type"], "repeat": item.count} | only
            plain = plain or {"repeat": item.count, "layers": inner}
        elif isinstance(item, Joined):
            plain = self._joined(item)
            if not self._flows(item, flow):
                plain["from"] = self.source(item.uses[0], flow)
        else:
            plain = self._layer(item)
            if not self._flows(item, flow):
                sources = [self.source(use, flow) for use in item.uses]
                plain["from"] = sources[0] if len(sources) == 1 else sources
        if item.result in self.wanted:
            plain["name"] = self.name(item)
        return plain["type"] if list(plain) == ["type"] else plain

    def _joined(self, item: Joined) -> dict[str, Any]:
        branches = [self._plain(branch, item.uses[0]) for branch in item.branches]
        join = item.join
        kind = join.type if join else "Add"
        extra = {"dim": join.args["dim"]} if join and "dim" in join.args else {}
        if len(branches) == 2 and kind in ("Add", "Mul"):  # noqa: PLR2004 - layers and shortcut
            layers, shortcut = branches if branches[0] else branches[::-1]
            plain: dict[str, Any] = {"type": "Residual"}
            if kind == "Mul":
                plain["op"] = "mul"
            plain["layers"] = layers
            if shortcut:
                plain["shortcut"] = shortcut
            return plain | extra
        return {
            "type": "Parallel",
            **({"merge": kind} if kind != "Concat" else {}),
            "branches": branches,
        } | extra

    def _layer(self, item: Item) -> dict[str, Any]:
        entry = item.entry
        if entry is not None and entry.reuse is not None:
            return {"reuse": self.name(self.entries[entry.reuse])}
        args = {k: _value(v) for k, v in item.args.items() if k not in item.defaults or v != item.defaults[k]}
        plain = {"type": item.type, **args}
        if entry is not None:
            if entry.tie is not None:
                plain["tie"] = self.name(self.entries[entry.tie])
            if not entry.trainable:
                plain["trainable"] = False
            if entry.training_only:
                plain["training_only"] = True
        return plain


def _every(items: list[Item]) -> list[Item]:
    """Return all items, those inside others too."""
    found = []
    for item in items:
        found.append(item)
        if isinstance(item, Joined):
            for branch in item.branches:
                found.extend(_every(branch))
        elif isinstance(item, Repeated):
            found.extend(_every(item.layers))
    return found


def _value(value: Any) -> Any:  # noqa: ANN401 - an argument
    """Return an argument as it is written: block arguments as ``$name`` or ``${2 * name}``."""
    if isinstance(value, Argument):
        if value.factor != 1:
            return f"${{{value.factor} * {value.name}}}"
        return f"${{{value.name} // {value.divisor}}}" if value.divisor != 1 else f"${value.name}"
    if isinstance(value, list):
        return [_value(v) for v in value]
    return value.text if isinstance(value, Formula) else value


def input_names(names: list[str]) -> list[str]:
    """Return the names of inputs as our language has them: words, none reserved, none twice."""
    made: list[str] = []
    for name in names:
        word = re.sub(r"[^A-Za-z0-9_]", "_", name)
        word = word if word[:1].isalpha() else f"x{word}"
        word = f"{word}_1" if word in _RESERVED or word.lower() in _WORDS else word
        unique, n = word, 1
        while unique in made:
            n += 1
            unique = f"{word}_{n}"
        made.append(unique)
    return made


def plain_network(network: Converted, *, folded: bool = True) -> dict[str, Any]:
    """Return the network as the mappings and lists that its YAML holds."""
    tree = fold(network, blocks=folded)
    inputs = input_names([given.name for given in network.inputs])
    kept = {use.item.result for use in tree.outputs if use.item is not None}
    for entry in network.entries:
        kept |= {other for other in (entry.reuse, entry.tie) if other is not None}
    top = _List(tree.items, inputs, kept)
    result: dict[str, Any] = {"format": 1, "name": network.name}
    if network.source:
        result["source"] = network.source
    if network.params:
        result["params"] = network.params
    result["inputs"] = {
        name: {"shape": _value(list(g.shape))} | ({"dtype": g.dtype} if g.dtype != "float32" else {})
        for name, g in zip(inputs, network.inputs, strict=True)
    }
    last = tree.items[-1] if tree.items else None
    outputs = []
    if len(tree.outputs) != 1 or tree.outputs[0].item is not last or tree.outputs[0].output:
        for use in tree.outputs:
            if use.item is not None:
                top.wanted.add(use.item.result)
        outputs = [top.source(use, None) for use in tree.outputs]
    blocks = {block.name: _block(block) for block in tree.blocks}
    if blocks:
        result["blocks"] = blocks
    result["layers"] = top.plain()
    if outputs:
        result["outputs"] = outputs
    if network.loss:
        result["loss"] = network.loss
    return result


def _block(block: BlockText) -> dict[str, Any]:
    count = 1 + max((use.output for item in block.items for use in item.uses if use.item is None), default=0)
    inputs = ["in"] if count == 1 else [f"in.{n}" for n in range(count)]
    layers = _List(block.items, inputs, set()).plain()
    arguments = {key: _value(value) for key, value in block.arguments.items()}
    return ({"args": arguments} if arguments else {}) | {"layers": layers}


def yaml_text(plain: dict[str, Any]) -> str:
    """Return plain mappings and lists as YAML: short ones on one line, long ones in blocks."""
    lines: list[str] = []
    for key, value in plain.items():
        if key == "blocks":
            lines.append("blocks:")
            for name, block in value.items():
                lines.append(f"  {name}:")
                if "args" in block:
                    lines.append(f"    args: {flow(block['args'])}")
                lines.append("    layers:")
                for item in block["layers"]:
                    _write(item, 6, lines)
        elif key == "layers":
            lines.append("layers:")
            for item in value:
                _write(item, 2, lines)
        else:
            lines.append(f"{key}: {flow(value, top=True)}")
    return "\n".join(lines) + "\n"


def _write(item: Any, indent: int, lines: list[str]) -> None:  # noqa: ANN401 - a word or a mapping
    space = " " * indent
    text = f"{space}- {flow(item)}"
    if len(text) <= WIDTH or not isinstance(item, dict) or not ({"layers", "branches"} & set(item)):
        lines.append(text)
        return
    first = "- "
    for key, value in item.items():
        head = f"{space}{first}{key}:"
        first = "  "
        if key in ("layers", "shortcut"):
            lines.append(head)
            for inner in value:
                _write(inner, indent + 4, lines)
        elif key == "branches":
            lines.append(head)
            for branch in value:
                _branch(branch, indent + 4, lines)
        else:
            lines.append(f"{head} {flow(value)}")


def _branch(branch: list[Any], indent: int, lines: list[str]) -> None:
    space = " " * indent
    text = f"{space}- {flow(branch)}"
    if len(text) <= WIDTH:
        lines.append(text)
        return
    inner: list[str] = []
    for item in branch:
        _write(item, indent + 2, inner)
    inner[0] = f"{space}- {inner[0].lstrip()}"
    lines.extend(inner)


def flow(value: Any, *, top: bool = False) -> str:  # noqa: ANN401 - any plain value
    """Return a value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{k}: {flow(v)}".rstrip() if v is not None else f"{k}: " for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    if isinstance(value, str):
        return (
            value
            if _is_plain(value, top=top)
            else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        )
    return repr(value)


def _is_plain(text: str, *, top: bool) -> bool:
    """Tell whether a text needs no quotes."""
    if re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", text):
        return True
    if top and re.fullmatch(r"[A-Za-z][A-Za-z0-9_./:=-]*", text) and not text.endswith(":"):
        return text.lower() not in _WORDS
    return _PLAIN.fullmatch(text) is not None and text.lower() not in _WORDS
