"""The line of a text that an error speaks of, with a caret under the place."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from estimator.errors import CombinedInputError

if TYPE_CHECKING:
    from estimator.errors import InputError, Location

_WIDEST = 100
_BEFORE_CARET = 60
_MOST_TEXTS = 16

# The texts last read, by the name they have in messages: what an error shows a line of. An error can come
# long after reading (a shape that does not fit), from floors that know places and no texts.
_texts: dict[str, str] = {}


def remember(file: str, text: str) -> None:
    """Keep a text that was read, so that errors in it can be shown."""
    _texts.pop(file, None)
    _texts[file] = text
    if len(_texts) > _MOST_TEXTS:
        del _texts[next(iter(_texts))]


def describe(error: InputError) -> str:
    """Return each error's line, followed by the excerpt of its place where its text was read."""
    errors = error.errors if isinstance(error, CombinedInputError) else (error,)
    return "\n".join(_with_excerpt(one) for one in errors)


def _with_excerpt(error: InputError) -> str:
    text = _texts.get(error.at.file) if error.at else None
    shown = excerpt(text, error.at) if text is not None and error.at else ""
    return f"{error}\n{shown}" if shown else str(error)


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
