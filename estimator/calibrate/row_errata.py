"""Rows whose table misread their source, as the source states them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

_FIELDS = ("precision", "batch_size", "model")


def corrected(row: MeasuredRow, tables: AliasTables) -> MeasuredRow:
    """Return the row with what its source says in place of what the table says; most rows stay as they are.

    Numbers of rows are those of the tables as collected, which curated tables keep. What holds for all runs
    of a script stands in the table of scripts.
    """
    line = tables.errata.get((row.source_id, row.row), {})
    stated = _by_script(row, tables) | {name: line[name] for name in _FIELDS if line.get(name)}
    return replace(row, **stated) if stated else row  # type: ignore[arg-type]  # text fields only


def _by_script(row: MeasuredRow, tables: AliasTables) -> dict[str, str]:
    script = tables.script(row)
    found = {"model": script["model"]} if script.get("model") else {}
    if (place := script.get("batch")) and (noted := re.search(place, row.notes)):
        found["batch_size"] = noted[1]
    return found
