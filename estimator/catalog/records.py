"""Checked profiles as plain data: read from YAML folders or from the snapshot made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.catalog.profile_keys import ARCHITECTURE, DEVICE
from estimator.catalog.site_keys import INSTANCES, INTERCONNECT, LABELS, SOURCES
from estimator.catalog.store import profile_files
from estimator.catalog.yaml_reader import read_document
from estimator.document import MapNode
from estimator.errors import InputError, combined

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.catalog.schema import Table
    from estimator.document import Node
    from estimator.errors import Location

Record = dict[str, Any]


@dataclass(slots=True)
class Records:
    """All profiles of one or several roots: by id, and the publications they cite by key."""

    sources: dict[str, Record] = field(default_factory=dict)
    architectures: dict[str, Record] = field(default_factory=dict)
    devices: dict[str, Record] = field(default_factory=dict)
    interconnects: dict[str, Record] = field(default_factory=dict)
    instances: dict[str, Record] = field(default_factory=dict)
    labels: dict[str, Record] = field(default_factory=dict)

    def updated(self, other: Records) -> Records:
        """Return these with what ``other`` holds put in their place."""
        return Records(**{kind: getattr(self, kind) | getattr(other, kind) for kind in KINDS})


KINDS = ("sources", "architectures", "devices", "interconnects", "instances", "labels")
_FOLDERS = {
    "architectures": (ARCHITECTURE, "architecture"),
    "devices": (DEVICE, "device"),
    "interconnects": (INTERCONNECT, "interconnect"),
}


def read_file(path: Path) -> Node:
    """Parse one profile; raises InputError where it cannot be read."""
    try:
        return read_document(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a UTF-8 text"
        raise InputError(f"cannot read {path}: {reason}") from None


def checked(node: Node, table: Table, what: str) -> Record:
    """Return a parsed profile as plain data, or raise all that is wrong with it."""
    errors: list[InputError] = []
    record: Record = table.read(node, what, errors)
    if errors:
        raise combined(errors)
    return record


def read_root(root: Path) -> Records:
    """Read every profile under a root; raises all errors at once."""
    records = Records()
    errors: list[InputError] = []
    for kind, (table, what) in _FOLDERS.items():
        into: dict[str, Record] = getattr(records, kind)
        for path in profile_files(root, kind):
            try:
                node = read_file(path)
                record = checked(node, table, what)
                if record["id"] in into:
                    at = location(node, "id")
                    raise InputError(f"a second {what} {record['id']!r}", at=at)  # noqa: TRY301 - collected
                into[record["id"]] = record
            except InputError as error:
                errors.append(error)
    for name, table, into in (
        ("sources", SOURCES, records.sources),
        ("instances", INSTANCES, records.instances),
        ("device_labels", LABELS, records.labels),
    ):
        path = root / f"{name}.yaml"
        if path.is_file():
            try:
                into.update(checked(read_file(path), table, name)["entries"])
            except InputError as error:
                errors.append(error)
    if errors:
        raise combined(errors)
    return records


def location(node: Node, key: str | None = None) -> Location:
    """Return the place of a key's value, or of the whole profile."""
    child = node.get(key) if key and isinstance(node, MapNode) else None
    return (child or node).at


def read_snapshot(path: Path) -> Records:
    """Read what ``write_snapshot`` wrote."""
    data = json.loads(path.read_bytes())
    return Records(**{kind: data[kind] for kind in KINDS})


def snapshot_text(records: Records) -> str:
    """Return records as JSON, one profile a line, the same bytes for the same records."""
    parts = []
    for kind in KINDS:
        entries: dict[str, Record] = getattr(records, kind)
        lines = [
            f"  {json.dumps(key)}: {json.dumps(entries[key], ensure_ascii=False, separators=(',', ':'))}"
            for key in sorted(entries)
        ]
        parts.append(f"{json.dumps(kind)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(parts) + "}\n"
