"""The safe reader of YAML texts: a text becomes a document whose every value knows its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from estimator.catalog.yaml_scalars import ScalarRefusedError, resolve
from estimator.catalog.yaml_syntax import syntax_error
from estimator.document import ListNode, MapNode, Scalar
from estimator.errors import InputError, Location, combined, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.document import Node, Value

LARGEST_BYTES = 4 * 2**20
DEEPEST = 64
MOST_NODES = 200_000
MOST_ALIASED_NODES = 100_000
MOST_ERRORS = 100

_TAGS = {
    yaml.ScalarEvent: ("!", "tag:yaml.org,2002:str"),
    yaml.SequenceStartEvent: ("!", "tag:yaml.org,2002:seq"),
    yaml.MappingStartEvent: ("!", "tag:yaml.org,2002:map"),
}
_PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# What YAML calls printable (1.2, production 1), without the byte-order mark in the middle of a text. The
# first is enough for ASCII; the second takes milliseconds to compile.
_UNPRINTABLE_ASCII = re.compile(r"[^\t\n\r\x20-\x7e]")
_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"


def read_document(text: str, file: str) -> Node:
    """Read one YAML document; ``file`` is the name shown in messages.

    Scalars follow the YAML 1.2 core schema; a mapping's keys are always text. Refused, with place and hint:
    invalid YAML, duplicate keys, tags other than str, seq and map, merge keys, aliases inside their own
    anchor, a second document, whole numbers beyond 18 digits, and what exceeds the limits of this module.
    Raises InputError, or CombinedInputError when there are several.
    """
    text = text.removeprefix("\ufeff")
    _check_text(text, file)
    return _Builder(file).build(_events(text, file))


def _check_text(text: str, file: str) -> None:
    start = Location(file, 1, 1)
    # A character is up to four bytes, so most texts need no second copy to be known to be small enough.
    if len(text) > LARGEST_BYTES or (
        len(text) * 4 > LARGEST_BYTES and len(text.encode("utf-8", "replace")) > LARGEST_BYTES
    ):
        raise InputError(f"the text is larger than {LARGEST_BYTES // 2**20} MiB", at=start)
    found = _UNPRINTABLE_ASCII.search(text) if text.isascii() else re.search(_UNPRINTABLE, text)
    if found:
        lines = (text[: found.start()] + ".").splitlines()
        raise InputError(
            f"a character no text has (U+{ord(found.group()):04X})",
            at=Location(file, len(lines), len(lines[-1])),
            hint="is this a YAML text file?",
        )


def _events(text: str, file: str) -> Iterator[Any]:
    """Give the parser's events; its errors become InputError."""
    parser = _PARSER(text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except yaml.YAMLError as error:
        raise syntax_error(error, text, file) from None
    finally:
        parser.dispose()


class _Open:
    """A list or mapping whose end is still to come: its nodes so far, a mapping's keys and values in turn."""

    __slots__ = ("anchor", "at", "is_map", "keys", "nodes", "size_before")

    def __init__(self, *, is_map: bool, at: Location, anchor: str | None, size_before: int) -> None:
        self.is_map = is_map
        self.at = at
        self.anchor = anchor
        self.size_before = size_before
        self.nodes: list[Node] = []
        self.keys: dict[str, Location] = {}

    @property
    def expects_key(self) -> bool:
        return self.is_map and len(self.nodes) % 2 == 0


class _Builder:
    """Builds the document from events, without recursion, keeping errors that do not stop it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.errors: list[InputError] = []
        self.root: Node | None = None
        self.open: list[_Open] = []
        self.open_anchors: set[str] = set()
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.nodes = 0
        self.aliased_nodes = 0
        self.resolved: dict[str, Value] = {}
        self.actions = {
            yaml.ScalarEvent: self._scalar,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceEndEvent: self._end,
            yaml.MappingEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._start_document,
        }

    def build(self, events: Iterator[Any]) -> Node:
        """Take all events; return the document or raise all its errors."""
        actions = self.actions
        try:
            for event in events:
                action = actions.get(event.__class__)
                if action is not None:
                    action(event)
        except InputError as error:
            self.errors.append(error)
        if self.errors:
            raise combined(self.errors[:MOST_ERRORS])
        if self.root is None or (isinstance(self.root, Scalar) and self.root.value is None):
            raise InputError(
                "the text is empty", at=Location(self.file, 1, 1), hint="expected 'name: value' lines"
            )
        return self.root

    def _at(self, event: Any) -> Location:  # noqa: ANN401 - PyYAML's events share no useful type
        mark = event.start_mark
        return Location(self.file, mark.line + 1, mark.column + 1)

    def _refuse(self, message: str, at: Location, hint: str | None = None) -> None:
        self.errors.append(InputError(message, at=at, hint=hint))
        if len(self.errors) >= MOST_ERRORS:
            raise InputError("too many errors; the rest of the text was not read", at=at)

    def _count(self, at: Location) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise InputError(
                f"more than {MOST_NODES:,} values in one text", at=at, hint="use repeat: or blocks:"
            )

    def _start_document(self, event: Any) -> None:  # noqa: ANN401 - as above
        if self.root is not None:
            raise InputError(
                "a second document in one text", at=self._at(event), hint="remove the line '---'"
            )

    def _scalar(self, event: Any) -> None:  # noqa: ANN401 - as above
        mark = event.start_mark
        at = Location(self.file, mark.line + 1, mark.column + 1)
        self._count(at)
        value: Value = event.value
        if event.tag is not None:
            self._check_tag(event, at)
        is_plain = event.implicit[0] and event.tag is None
        if self.open and self.open[-1].expects_key:
            self._key(event.value, at, is_plain=is_plain)
        elif is_plain:
            value = self._resolve(event.value, at)
        node = Scalar(value, at)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, 1)
        self._add(node)

    def _resolve(self, text: str, at: Location) -> Value:
        try:
            return self.resolved[text]
        except KeyError:
            pass
        try:
            value = self.resolved[text] = resolve(text)
        except ScalarRefusedError as error:
            self._refuse(error.message, at, error.hint)
            return None
        return value

    def _key(self, text: str, at: Location, *, is_plain: bool) -> None:
        keys = self.open[-1].keys
        first = keys.setdefault(text, at)
        if first is not at:
            self._refuse(
                f"key {text!r} is given twice (first in line {first.line})", at, "remove one of them"
            )
        elif is_plain and text == "<<":
            self._refuse("merge keys '<<' are not supported", at, "use blocks: or params:")
        elif not text:
            self._refuse("a key is missing before ':'", at)

    def _start(self, event: Any) -> None:  # noqa: ANN401 - as above
        at = self._at(event)
        self._count(at)
        if len(self.open) >= DEEPEST:
            raise InputError(f"nested deeper than {DEEPEST} levels", at=at)
        if event.tag is not None:
            self._check_tag(event, at)
        if self.open and self.open[-1].expects_key:
            self._refuse("a key must be text, not a list or mapping", at, "put ${...} in quotes")
        if event.anchor is not None:
            self.open_anchors.add(event.anchor)
        is_map = event.__class__ is yaml.MappingStartEvent
        size_before = self.nodes + self.aliased_nodes - 1
        self.open.append(_Open(is_map=is_map, at=at, anchor=event.anchor, size_before=size_before))

    def _end(self, _event: Any) -> None:  # noqa: ANN401 - as above
        done = self.open.pop()
        node: Node
        if done.is_map:
            pairs = zip(done.nodes[::2], done.nodes[1::2], strict=True)
            node = MapNode(tuple((key, value) for key, value in pairs if isinstance(key, Scalar)), done.at)
        else:
            node = ListNode(tuple(done.nodes), done.at)
        if done.anchor is not None:
            self.open_anchors.discard(done.anchor)
            self.anchors[done.anchor] = (node, self.nodes + self.aliased_nodes - done.size_before)
        self._add(node)

    def _alias(self, event: Any) -> None:  # noqa: ANN401 - as above
        at = self._at(event)
        self._count(at)
        name: str = event.anchor
        node: Node = Scalar(None, at)
        if self.open and self.open[-1].expects_key:
            self._refuse("a key must be text, not an alias", at)
        elif name in self.open_anchors:
            self._refuse(f"alias *{name} stands inside its own anchor: it would contain itself", at)
        elif name not in self.anchors:
            self._refuse(f"alias *{name} has no anchor &{name} before it", at, suggestion(name, self.anchors))
        else:
            node, size = self.anchors[name]
            self.aliased_nodes += size
            if self.aliased_nodes > MOST_ALIASED_NODES:
                raise InputError(f"aliases expand to more than {MOST_ALIASED_NODES:,} values", at=at)
        self._add(node)

    def _check_tag(self, event: Any, at: Location) -> None:  # noqa: ANN401 - as above
        if event.tag not in _TAGS[event.__class__]:
            name = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._refuse(f"tag {name} is not allowed", at, "remove it: values are plain YAML")

    def _add(self, node: Node) -> None:
        if self.open:
            self.open[-1].nodes.append(node)
        else:
            self.root = node
