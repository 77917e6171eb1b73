"""The errors of one text, gathered so that all are told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.errors import InputError, combined

if TYPE_CHECKING:
    from estimator.errors import Location

MOST = 100


class StopReadingError(Exception):
    """Reading further is of no use: a limit is passed, or the errors fill the screen already."""


class Problems:
    """Keeps each error once, however often a repeated layer runs into it."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, Location | None], InputError] = {}

    def __len__(self) -> int:
        """Count the errors."""
        return len(self._errors)

    def add(self, message: str, at: Location | None, hint: str | None = None) -> None:
        """Keep an error. Raises StopReadingError when there are too many to read."""
        self._errors.setdefault((message, at), InputError(message, at=at, hint=hint))
        if len(self._errors) >= MOST:
            raise StopReadingError

    def stop(self, message: str, at: Location | None, hint: str | None = None) -> StopReadingError:
        """Keep an error after which nothing else is read, and return what to raise."""
        self._errors.setdefault((message, at), InputError(message, at=at, hint=hint))
        return StopReadingError()

    def raise_all(self) -> None:
        """Raise what was kept, if anything was."""
        if self._errors:
            raise combined(list(self._errors.values()))
