"""Counts of the zoo that were made once: a list of networks need not run hundreds of them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from estimator.catalog.network_base import DEEPEST
from estimator.catalog.networks import zoo
from estimator.catalog.store import bundled_root
from estimator.catalog.text_files import read_text_file
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RECORD = "networks/counts.json"  # made by ``make counts``
_BASE = re.compile(r"^base: *([A-Za-z0-9_-]+) *$", re.MULTILINE)


def recorded_counts() -> Mapping[str, Mapping[str, Any]]:
    """Return rows of the list by name, each with the ``digest`` of the text it was counted from.

    A record that is missing or damaged is empty: everything is counted then.
    """
    path = bundled_root() / RECORD
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def digests(files: Mapping[str, Path] | None = None) -> dict[str, str]:
    """Return what the counts of each network of the zoo depend on: its text and those it builds on."""
    files = zoo() if files is None else files
    texts: dict[str, str] = {}

    def text(name: str) -> str:
        if name not in texts:
            try:
                texts[name] = read_text_file(files[name]).text if name in files else ""
            except InputError:
                texts[name] = ""
        return texts[name]

    found = {}
    for name in files:
        digest, layer = hashlib.sha256(), name
        for _ in range(DEEPEST + 1):
            digest.update(text(layer).encode())
            base = _BASE.search(text(layer))
            if base is None:
                break
            layer = base[1]
        found[name] = digest.hexdigest()[:16]
    return found
