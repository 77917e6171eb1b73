"""Turns the ``sources:`` of a profile into the provenance of each field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.errors import InputError, suggestion
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = "default"


class Sources:
    """The publications that profiles cite by key."""

    def __init__(self, records: Mapping[str, Mapping[str, str]]) -> None:
        """Take ``key: {source, basis, note}`` records."""
        self._known = {
            key: Provenance(record["source"], Basis(record["basis"]), record.get("note", ""))
            for key, record in records.items()
        }

    def resolve(self, entry: str | Mapping[str, str]) -> Provenance:
        """Return the provenance an entry names: a key, or a mapping with ``key`` or ``source``.

        A mapping's ``basis`` and ``note`` go before those of its key; a text that is no key is refused.
        """
        if isinstance(entry, str):
            entry = {"key": entry}
        if "key" not in entry:
            return Provenance(
                entry.get("source", ""), Basis(entry.get("basis", Basis.DATASHEET)), entry.get("note", "")
            )
        known = self._known.get(entry["key"])
        if known is None:
            hint = (
                suggestion(entry["key"], self._known) or "write {source: ..., basis: ...} for one of your own"
            )
            raise InputError(f"unknown source {entry['key']!r}", hint=hint)
        if len(entry) == 1:
            return known
        basis = Basis(entry.get("basis", known.basis))
        return Provenance(known.source, basis, entry.get("note", known.note))

    def of(self, record: Mapping[str, Any], key: str) -> Provenance | None:
        """Return the provenance of one key of a profile: its own entry, or the profile's default."""
        entries = record.get("sources", {})
        entry = entries.get(key, entries.get(DEFAULT))
        return None if entry is None else self.resolve(entry)
