"""The ``csv`` format: the rows of a result for programs, under the names that JSON has for them."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXACT = 2**53


def render_rows(result: Mapping[str, Any], path: str) -> str:
    """Return the list at ``path`` of a result (``predictions``, ``predictions.layers``), a row a line.

    Numbers are plain and in the units that their names say; what is not known is empty.
    """
    rows = [dict(_cells(row)) for row in _at(result, path.split("."))]
    names = dict.fromkeys(name for row in rows for name in row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _at(value: Mapping[str, Any], path: list[str]) -> Iterator[Mapping[str, Any]]:
    """Give the rows of a list; those of a list within a device's row have its id in front."""
    first, *rest = path
    for row in value[first]:
        if not rest:
            yield row
            continue
        for inner in _at(row, rest):
            yield {"device": row["device"]["id"], "devices": row["device"]["devices"], **inner}


def _cells(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Give a row's cells; a mapping in it gives a cell a key, a list of mappings is a table of its own."""
    for key, value in row.items():
        name = f"{before}{key}".replace(" ", "_")
        if isinstance(value, dict):
            yield from _cells(value, f"{name}_")
        elif not isinstance(value, list):
            yield name, _text(value)
        elif value and not any(isinstance(item, (dict, list)) for item in value):
            are_sizes = all(isinstance(item, int) for item in value)
            yield name, ("x" if are_sizes else "; ").join(map(_text, value))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)
