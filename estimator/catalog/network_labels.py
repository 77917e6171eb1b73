"""What people call networks in tables and papers (``GNMT v2``): a network of the zoo with its parameters."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from functools import cache

from estimator.catalog.store import bundled_root
from estimator.catalog.text_files import SourceText

_TABLE = ("aliases", "networks.csv")
_FACT = re.compile(r"\$([a-z_]+)(\??)")
# Facts that a row of a table would state and a network has a usual value for.
_USUAL = frozenset({"image", "height", "width", "channels", "seq", "src", "tgt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a label stands for; ``missing`` are parameters that it does not state and that differ."""

    network: str
    params: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    note: str

    def source(self) -> SourceText:
        """Return the network as a text that builds on the one of the zoo."""
        name = json.dumps(self.network)
        params = ", ".join(f"{key}: {value}" for key, value in self.params)
        text = f"base: {name}\nname: {name}\n" + (f"params: {{{params}}}\n" if params else "")
        return SourceText(file=f"{self.network}.yaml", text=text)

    def hint(self, *, is_known: bool) -> str:
        """Say why the label alone names no network that can be opened."""
        if not is_known:
            return self.note or "nothing here describes it: write it as a YAML file"
        settings = " ".join(f"--set {name}=…" for name in self.missing)
        return f"it is {self.network} with figures of its own: write {self.network} {settings}".rstrip()


@cache
def _lines() -> tuple[dict[str, str], ...]:
    text = bundled_root().joinpath(*_TABLE).read_text("utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def meaning_of(label: str) -> Meaning | None:
    """Return what a label stands for, or None: one written out goes before a pattern, then the first."""
    for line in _lines():
        if line["label"].lower() == label.lower():
            return _meaning(line, None)
    for line in _lines():
        if line["label"].startswith("~") and (match := re.fullmatch(line["label"][1:], label)):
            return _meaning(line, match)
    return None


def _meaning(line: dict[str, str], match: re.Match[str] | None) -> Meaning:
    def filled(template: str) -> str:
        return match.expand(template) if match and "\\" in template else template

    params, missing = [], []
    for part in filter(None, (line["params"] or "").split(";")):
        key, _, template = part.partition("=")
        value = filled(template.strip())
        fact = _FACT.search(value)
        if fact is None:
            params.append((key.strip(), value))
        elif not fact[2] and fact[1] not in _USUAL:
            missing.append(key.strip())
    network = filled((line["network"] or "").strip())
    is_open = _FACT.search(network) is not None
    return Meaning(
        network="" if is_open else network,
        params=tuple(params),
        missing=tuple(missing),
        note=(line["note"] or "").strip(),
    )
