"""Cells of tables that a page sorts: each a text and its key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from estimator.report.blocks import Table
from estimator.report.phrases import NOTHING, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from estimator.report.blocks import Column

    Key: TypeAlias = float | str | None
    Cell: TypeAlias = tuple[str, Key]


def keyed_table(name: str, title: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Table:
    """Return a table of cells that are each a text and what it is sorted by."""
    found = [tuple(row) for row in rows]
    return Table(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(tuple(text for text, _ in row) for row in found),
        keys=tuple(tuple(key for _, key in row) for row in found),
    )


def word(text: str) -> Cell:
    """Return a cell that is sorted by its text."""
    return text, text


def known(value: float | None, write: Callable[[float], str]) -> Cell:
    """Return a figure as ``write`` puts it, or a dash, sorted last, where it is not known."""
    return (NOTHING, None) if value is None or math.isnan(value) else (write(value), value)


def share_of(part: float, whole: float) -> Cell:
    """Return a share in per cent."""
    return percent(part, whole), part / whole if whole > 0 else None
