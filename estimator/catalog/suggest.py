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
# What other commands take for devices of this machine.
_HERE = re.compile(r"cpu|here|this-cpu|(?:cuda|gpu)(?::\d+)?")


def unknown_device(catalogue: Catalogue, name: str) -> InputError:
    """Return the error for a name nothing answers to, with the nearest known one as a hint."""
    hint = (
        _of_this_machine(name)
        or _without_its_cloud(catalogue, name)
        or _misspelt(catalogue, name)
        or _of_the_same_words(catalogue, name)
        or _of_like_letters(catalogue, name)
    )
    return InputError(
        f"unknown device {name!r}", hint=hint or "'estimator devices list' shows the known ones"
    )


def _of_this_machine(name: str) -> str | None:
    """``cpu``: this machine's, which is not in the catalogue."""
    if not _HERE.fullmatch(name.strip().lower()):
        return None
    return f"{name.strip()!r} means this machine's to predict and compare; 'estimator detect' shows it"


def _without_its_cloud(catalogue: Catalogue, name: str) -> str | None:
    """``p3.2xlarge``: a cloud instance without the cloud before it."""
    wanted = re.sub("[ _]+", "-", name.strip().lower()).removeprefix("standard-")
    full = [key for key in catalogue.records.instances if key.partition(":")[2] == wanted]
    return f"did you mean {' or '.join(map(repr, sorted(full)))}?" if full else None


def _misspelt(catalogue: Catalogue, name: str) -> str | None:
    """``GTX 1080 Tii``: nearly the words of a device, of its number where there is one."""
    numbers = _numbers(words(name))
    known = {" ".join(exact): exact for exact in catalogue.exact}
    known = {text: exact for text, exact in known.items() if numbers <= _numbers(exact)} or known
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


def _numbers(name_words: tuple[str, ...]) -> set[str]:
    return {word for word in name_words if _NUMBER.search(word)}


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
