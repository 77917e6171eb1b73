"""Reads profiles from YAML folders: parsed, checked against their keys, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.profile_keys import ARCHITECTURE, DEVICE
from estimator.catalog.records import Records
from estimator.catalog.site_keys import INSTANCES, INTERCONNECT, LABELS, SOURCES
from estimator.catalog.store import profile_files
from estimator.catalog.yaml_reader import read_document
from estimator.document import MapNode
from estimator.errors import InputError, combined

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.catalog.records import Record
    from estimator.catalog.schema import Table
    from estimator.document import Node
    from estimator.errors import Location

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
