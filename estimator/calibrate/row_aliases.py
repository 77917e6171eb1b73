"""Tables that say what labels of measurement tables mean: networks, scripts, frameworks, sources, sets."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from estimator.errors import InputError, Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from estimator.calibrate.rows import MeasuredRow
    from estimator.document import Value

_TABLES = ("frameworks", "scripts", "variants", "sources", "datasets", "links", "errata")
_PLACEHOLDER = re.compile(r"\$([a-z_]+)(\?)?")


class UncoveredError(Exception):
    """A row cannot be compared with a prediction; the text says why, without the row's own figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRef:
    """A network by its name in the zoo (or ``timm:``/``torchvision:`` name) and its parameters."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAlias:
    """One line of the label table; ``params`` are templates, ``items`` what one sample counts in a rate.

    ``optimizer`` is what the network is trained with where rows do not say, empty for the usual one.
    """

    label: str
    network: str
    params: tuple[tuple[str, str], ...]
    items: str
    batch: str
    note: str
    optimizer: str = ""


@dataclass(frozen=True, kw_only=True)
class AliasTables:
    """All alias tables; patterns are compiled once."""

    networks: tuple[NetworkAlias, ...]
    tables: Mapping[str, tuple[Mapping[str, str], ...]]

    @cached_property
    def _exact(self) -> dict[str, NetworkAlias]:
        return {alias.label.lower(): alias for alias in reversed(self.networks) if alias.label[0] != "~"}

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], NetworkAlias], ...]:
        return tuple(
            (re.compile(alias.label[1:]), alias) for alias in self.networks if alias.label.startswith("~")
        )

    @cached_property
    def _searches(self) -> dict[str, tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]]:
        return {
            name: tuple((re.compile(line["pattern"]), line) for line in lines)
            for name, lines in self.tables.items()
            if lines and "pattern" in lines[0]
        }

    @cached_property
    def sources(self) -> dict[str, Mapping[str, str]]:
        """The description of each source by its id."""
        return {line["source_id"]: line for line in self.tables["sources"]}

    def network(self, label: str) -> tuple[NetworkAlias, re.Match[str] | None] | None:
        """Return the alias of a network label and its match, or None for an unknown label."""
        if alias := self._exact.get(label.lower()):
            return alias, None
        for pattern, alias in self._patterns:
            if match := pattern.fullmatch(label):
                return alias, match
        return None

    def search(self, table: str, text: str) -> Mapping[str, str] | None:
        """Return the first line of ``table`` whose pattern occurs in ``text``."""
        return next((line for pattern, line in self._searches[table] if pattern.search(text)), None)

    def script(self, row: MeasuredRow) -> Mapping[str, str]:
        """Return what is known of the script that a row was measured with; nothing for most rows.

        Many rows share a text, and each is asked about several times.
        """
        text = f"{row.source} | {row.source_path} | {row.precision}"
        if text not in self._scripts:
            self._scripts[text] = self.search("scripts", text) or {}
        return self._scripts[text]

    @cached_property
    def _scripts(self) -> dict[str, Mapping[str, str]]:
        return {}

    @cached_property
    def errata(self) -> dict[tuple[str, str], Mapping[str, str]]:
        """What a table misread of its source, by source and row."""
        return {
            (line["source_id"], number): line
            for line in self.tables["errata"]
            for number in line["rows"].split()
        }


def read_alias_tables(folder: Path) -> AliasTables:
    """Read the tables (CSV) that ``folder`` holds: of networks, and those in ``_TABLES``."""
    tables = {name: tuple(_lines(folder / f"{name}.csv")) for name in _TABLES}
    return AliasTables(networks=tuple(_network_aliases(folder / "networks.csv")), tables=tables)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    """Give the lines of a table; lines that start with # are comments."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    for line in csv.DictReader(part for part in text.splitlines() if not part.startswith("#")):
        yield {name: (cell or "").strip() for name, cell in line.items() if name}


def _network_aliases(path: Path) -> Iterator[NetworkAlias]:
    for number, line in enumerate(_lines(path), start=2):
        if not line["label"]:
            raise InputError(f"line {number} of {path.name} has no label", at=Location(str(path), number, 1))
        pairs = (part.partition("=") for part in line["params"].split(";") if part)
        yield NetworkAlias(
            label=line["label"],
            network=line["network"],
            params=tuple((name.strip(), value.strip()) for name, _, value in pairs),
            items=line["items"],
            batch=line["batch"],
            note=line["note"],
            optimizer=line["optimizer"],
        )


def expand(template: str, facts: Mapping[str, Value], match: re.Match[str] | None) -> Value:
    r"""Fill ``$key`` from the facts of a row and ``\1`` from the label's match.

    Returns None for ``$key?`` that the row does not state; raises UncoveredError for a required key.
    """
    text = match.expand(template) if match and "\\" in template else template
    whole = _PLACEHOLDER.fullmatch(text)
    if whole:
        return _fact(whole, facts)
    text = _PLACEHOLDER.sub(lambda found: str(_fact(found, facts)), text)
    return typed(text)


def _fact(found: re.Match[str], facts: Mapping[str, Value]) -> Value:
    value = facts.get(found[1])
    if value is None and not found[2]:
        raise UncoveredError(f"{found[1].replace('_', ' ')} not stated")
    return value


def typed(text: str) -> Value:
    """Read ``true``, ``12``, ``0.5`` as what they are; anything else stays text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def network_of(
    tables: AliasTables, label: str, facts: Mapping[str, Value]
) -> tuple[NetworkRef, NetworkAlias | None]:
    """Translate a label; an identifier that no table names is taken as the network's own name."""
    found = tables.network(label)
    if found is None:
        if not re.fullmatch(r"[A-Za-z][\w.:-]*", label):
            raise UncoveredError(f"unknown network {label!r}")
        image = facts.get("image")
        return NetworkRef(name=label, params=(("image", image),) if image else ()), None
    alias, match = found
    name = expand(alias.network, facts, match)
    if not name:
        raise UncoveredError(f"network {label!r}: {alias.note or 'not described'}")
    params = ((key, expand(template, facts, match)) for key, template in alias.params)
    stated = tuple((key, value) for key, value in params if value is not None)
    return NetworkRef(name=str(name), params=stated), alias
