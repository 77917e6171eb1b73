"""``base:`` in a network file: what the file does not say, the network named says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.document import MapNode, Scalar
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.document import Node

KEY = "base"
_OWN = ("name", "format")  # of the file itself, never the base's
_JOINED = ("params", "blocks")  # joined name by name; any other section replaces the base's


def with_base(document: Node, find: Callable[[str], Node]) -> Node:
    """Return ``document`` without its ``base:`` and with what is missing from the network it names.

    ``find`` gives the document of a network of the zoo. Raises InputError where the base cannot be one.
    """
    if not isinstance(document, MapNode) or (name := document.get(KEY)) is None:
        return document
    if not isinstance(name, Scalar) or not isinstance(name.value, str):
        raise InputError("'base' must be the name of a network of the zoo", at=name.at)
    try:
        base = find(name.value)
    except InputError as error:
        raise InputError(error.message, at=name.at, hint=error.hint) from None
    if not isinstance(base, MapNode) or base.get("layers") is None or base.get(KEY) is not None:
        raise InputError(
            f"{name.value!r} cannot be a base", at=name.at, hint="name a network that has layers of its own"
        )
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
    """Refuse a parameter the base does not have in a file without layers of its own: nothing would use it."""
    own, inherited = document.get("params"), base.get("params")
    if document.get("layers") is not None or not isinstance(own, MapNode):
        return
    known = tuple(inherited.keys()) if isinstance(inherited, MapNode) else ()
    for key, _ in own.entries:
        if str(key.value) not in known:
            hint = suggestion(str(key.value), known) or f"it has {', '.join(known) or 'none'}"
            raise InputError(f"{name} has no parameter {str(key.value)!r}", at=key.at, hint=hint)
