"""A parsed text whose every value knows its place: what readers hand to interpreters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.errors import Location

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value: text, whole number, number, truth value or nothing."""

    value: Value
    at: Location


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence of nodes."""

    items: tuple[Node, ...]
    at: Location


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping from text keys to nodes, in the order of the text, without duplicates."""

    entries: tuple[tuple[Scalar, Node], ...]
    at: Location

    def get(self, key: str) -> Node | None:
        """Return the node under ``key``, or None."""
        for name, node in self.entries:
            if name.value == key:
                return node
        return None

    def keys(self) -> Iterator[str]:
        """Give the keys in the order of the text."""
        return (str(name.value) for name, _ in self.entries)


Node: TypeAlias = Scalar | ListNode | MapNode
