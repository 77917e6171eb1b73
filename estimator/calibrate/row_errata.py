"""Rows whose table misread their source, as the source states them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

_FIELDS = ("precision", "batch_size", "model")


def corrected(row: MeasuredRow, tables: AliasTables) -> MeasuredRow:
    """Return the row with what its source says in place of what the table says; most rows stay as they are.

    Numbers of rows are those of the tables as collected, which curated tables keep.
    """
    line = tables.errata.get((row.source_id, row.row))
    if line is None:
        return row
    stated = {name: line[name] for name in _FIELDS if line[name]}
    return replace(row, **stated)  # type: ignore[arg-type]  # text fields only
