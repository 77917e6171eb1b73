"""``base:`` in a network file: what the file does not say, the network named says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.document import MapNode, Scalar
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.document import Node

KEY = "base"
DEEPEST = 4  # a base may have a base; more than a few make a file hard to follow, and a circle never ends
_OWN = ("name", "format")  # of the file itself, never the base's
_JOINED = ("params", "blocks")  # joined name by name; any other section replaces the base's


def with_base(document: Node, find: Callable[[str], Node], depth: int = 0) -> Node:
    """Return ``document`` without its ``base:`` and with what is missing from the network it names.

    ``find`` gives the document of a network of the zoo; that may have a base again. Raises InputError where
    the base cannot be one.
    """
    if not isinstance(document, MapNode) or (name := document.get(KEY)) is None:
        return document
    if not isinstance(name, Scalar) or not isinstance(name.value, str):
        raise InputError("'base' must be the name of a network of the zoo", at=name.at)
    try:
        base = find(name.value)
    except InputError as error:
        raise InputError(error.message, at=name.at, hint=error.hint) from None
    if depth == DEEPEST:
        raise InputError(f"more than {DEEPEST} networks build on each other", at=name.at)
    base = with_base(base, find, depth + 1)
    if not isinstance(base, MapNode):
        raise InputError(f"{name.value!r} is no network", at=name.at)
    _check_params(document, base, name.value)
    own = {str(key.value): (key, node) for key, node in document.entries if key.value != KEY}
    inherited = {str(key.value): (key, node) for key, node in base.entries if key.value not in _OWN}
    for section in _JOINED:
        if section in own and section in inherited:
            key, node = own[section]
            own[section] = (key, _joined(inherited[section][1], node))
    return MapNode(tuple((inherited | own).values()), document.at)


def _joined(base: Node, own: Node) -> Node:
    """Return the entries of the base in their order, replaced where the file has them, then the file's."""
    if not isinstance(base, MapNode) or not isinstance(own, MapNode):
        return own
    entries = {str(key.value): (key, node) for key, node in base.entries}
    entries |= {str(key.value): (key, node) for key, node in own.entries}
    return MapNode(tuple(entries.values()), own.at)


def _check_params(document: MapNode, base: MapNode, name: str) -> None:
    """Refuse a parameter the base does not have where the file has nothing that could use it."""
    own, inherited = document.get("params"), base.get("params")
    has_users = document.get("layers") is not None or document.get("blocks") is not None
    if has_users or not isinstance(own, MapNode):
        return
    known = tuple(inherited.keys()) if isinstance(inherited, MapNode) else ()
    for key, _ in own.entries:
        if str(key.value) not in known:
            hint = suggestion(str(key.value), known) or f"it has {', '.join(known) or 'none'}"
            raise InputError(f"{name} has no parameter {str(key.value)!r}", at=key.at, hint=hint)
