"""The line of a text that an error speaks of, with a caret under the place."""

from __future__ import annotations

import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING

from estimator.errors import CombinedInputError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.errors import Location

_WIDEST = 100
_BEFORE_CARET = 60


def excerpt(text: str, at: Location) -> str:
    """Return the line of ``text`` at ``at`` with a caret below it; empty when there is no such line."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not 1 <= at.line <= len(lines):
        return ""
    line = "".join(character if character.isprintable() else " " for character in lines[at.line - 1])
    column = min(at.column - 1, len(line))
    first = max(0, column - _BEFORE_CARET) if len(line) > _WIDEST else 0
    shown = line[first : first + _WIDEST].rstrip()
    number = f"{at.line:>5} | "
    before = line[first:column]
    width = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in before)
    return f"{number}{shown}\n{' ' * 5} | {' ' * width}^"


@contextmanager
def showing_excerpts(text: str, file: str) -> Iterator[None]:
    """Add to each InputError about ``file`` that passes through, as a note, the excerpt of its place."""
    try:
        yield
    except InputError as error:
        for one in error.errors if isinstance(error, CombinedInputError) else (error,):
            is_here = one.at is not None and one.at.file == file and not getattr(one, "__notes__", ())
            shown = excerpt(text, one.at) if one.at is not None and is_here else ""
            if shown:
                one.add_note(shown)
        raise


def describe(error: InputError) -> str:
    """Return each error's line followed by its excerpt, if it was given one."""
    errors = error.errors if isinstance(error, CombinedInputError) else (error,)
    return "\n".join("\n".join((str(one), *getattr(one, "__notes__", ()))) for one in errors)
