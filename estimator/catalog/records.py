"""Checked profiles as plain data, and the snapshot that keeps them in one file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from estimator.catalog.names import words

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]


@dataclass(slots=True)
class Records:
    """All profiles of one or several roots: by id, and the publications they cite by key.

    ``words`` are those of the names of each device, worked out when the snapshot was made; a device
    without them is one of the user's own.
    """

    sources: dict[str, Record] = field(default_factory=dict)
    architectures: dict[str, Record] = field(default_factory=dict)
    devices: dict[str, Record] = field(default_factory=dict)
    interconnects: dict[str, Record] = field(default_factory=dict)
    instances: dict[str, Record] = field(default_factory=dict)
    labels: dict[str, Record] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)

    def updated(self, other: Records) -> Records:
        """Return these with what ``other`` holds put in their place."""
        merged = {kind: getattr(self, kind) | getattr(other, kind) for kind in KINDS}
        kept = {id_: names for id_, names in self.words.items() if id_ not in other.devices}
        return Records(**merged, words=kept | other.words)


KINDS = ("sources", "architectures", "devices", "interconnects", "instances", "labels")


def names_of(id_: str, record: Record) -> tuple[str, ...]:
    """Return everything a device is called: id, name and aliases."""
    return (id_, record["name"], *record.get("aliases", ()))


def with_words(records: Records) -> Records:
    """Return the records with the words of all names worked out."""
    found = {
        id_: sorted({" ".join(words(name)) for name in names_of(id_, record)})
        for id_, record in records.devices.items()
    }
    return replace(records, words=found)


def read_snapshot(path: Path) -> Records:
    """Read what ``snapshot_text`` made."""
    return Records(**json.loads(path.read_bytes()))


def snapshot_text(records: Records) -> str:
    """Return records as JSON, one profile a line, the same bytes for the same records."""
    parts = []
    for kind in (*KINDS, "words"):
        entries = getattr(records, kind)
        lines = [
            f"  {json.dumps(key)}: {json.dumps(entries[key], ensure_ascii=False, separators=(',', ':'))}"
            for key in sorted(entries)
        ]
        parts.append(f"{json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"
