"""Which network a name that is none may have meant: by its beginning, its words, its letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from estimator.errors import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"[a-z]+|\d+")
_LEAST = 3  # letters of a beginning that tells anything


def loose(name: str) -> str:
    """Return a name without what people write differently: case, spaces, punctuation."""
    return "".join(character for character in name.lower() if character.isalnum())


def near_network(name: str, known: Iterable[str]) -> str | None:
    """Return ``did you mean 'x'?`` or None; the shortest name that begins alike goes before any other."""
    names = sorted(known, key=lambda each: (len(each), each))
    wanted = loose(name)
    if len(wanted) < _LEAST:
        return suggestion(name, names)
    words = set(_WORD.findall(name.lower()))
    begins = (each for each in names if loose(each).startswith(wanted))
    holds = (each for each in names if all(word in loose(each) for word in words))
    found = next(begins, None) or _misspelt(name, names) or next(holds, None)
    return f"did you mean {found!r}?" if found else suggestion(name, names)


def _misspelt(name: str, names: list[str]) -> str | None:
    """Return a name that is this one but for a letter or two, of about the same length."""
    import difflib

    by_loose = {loose(each): each for each in reversed(names)}
    wanted = loose(name)
    near = difflib.get_close_matches(wanted, by_loose, n=5, cutoff=0.85)
    return by_loose[min(near, key=lambda each: abs(len(each) - len(wanted)))] if near else None
