"""A named collection that refuses duplicates, and suggests near names for unknown ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
_MOST_LISTED = 24


class Registry(Generic[T]):
    """Things by name; ``kind`` is the word used for one of them in messages."""

    def __init__(self, kind: str) -> None:
        """Start empty."""
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Add one thing; a second one of the same name is a programming error."""
        if name in self._items:
            message = f"{self.kind} {name!r} is registered twice"
            raise ValueError(message)
        self._items[name] = item

    def get(self, name: str) -> T:
        """Return the thing called ``name``, or raise InputError with a suggestion."""
        try:
            return self._items[name]
        except KeyError:
            hint = suggestion(name, self) or self._choices()
            raise InputError(f"unknown {self.kind} {name!r}", hint=hint) from None

    def _choices(self) -> str | None:
        """List the names where they are few enough to read."""
        return f"choose from {', '.join(self)}" if 0 < len(self) <= _MOST_LISTED else None

    def __contains__(self, name: object) -> bool:
        """Tell whether a thing of that name is there."""
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        """Give the names in alphabetical order."""
        return iter(sorted(self._items))

    def __len__(self) -> int:
        """Count the things."""
        return len(self._items)
