"""What a name that is no device's may have meant: a suggestion, never an answer."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from estimator.catalog.names import words
from estimator.catalog.records import names_of
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from estimator.catalog.catalogue import Catalogue

_ALIKE = 0.9
_SHARED = 0.5
_NUMBER = re.compile(r"\d{2,}(?!gb|core)")


def unknown_device(catalogue: Catalogue, name: str) -> InputError:
    """Return the error for a name nothing answers to, with the nearest known one as a hint."""
    hint = (
        _misspelt(catalogue, name) or _of_the_same_words(catalogue, name) or _of_like_letters(catalogue, name)
    )
    return InputError(
        f"unknown device {name!r}", hint=hint or "'estimator devices list' shows the known ones"
    )


def _misspelt(catalogue: Catalogue, name: str) -> str | None:
    """``GTX 1080 Tii``: nearly the words of a device."""
    known = {" ".join(exact): exact for exact in catalogue.exact}
    near = difflib.get_close_matches(" ".join(words(name)), known, n=1, cutoff=_ALIKE)
    if not near:
        return None
    id_ = min(catalogue.exact[known[near[0]]])
    called = next(
        called
        for called in reversed(names_of(id_, catalogue.records.devices[id_]))
        if words(called) == known[near[0]]
    )
    return f"did you mean {called!r}?"


def _of_the_same_words(catalogue: Catalogue, name: str) -> str | None:
    """``RTX 4090 48GB``: the device that shares most words, a number among them."""
    wanted = set(words(name))
    best, id_ = 0.0, ""
    for known, ids in catalogue.exact.items():
        common = wanted.intersection(known)
        share = len(common) / len(wanted.union(known))
        if share > best and any(_NUMBER.search(word) for word in common):
            best, id_ = share, min(ids)
    return f"did you mean {catalogue.records.devices[id_]['name']!r}?" if best >= _SHARED else None


def _of_like_letters(catalogue: Catalogue, name: str) -> str | None:
    devices = catalogue.records.devices
    return suggestion(name, [called for id_, record in devices.items() for called in names_of(id_, record)])
