"""Price tables on disk: CSV files with checked columns, every error with its place."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from estimator.catalog.currencies import currency_code
from estimator.catalog.price_rows import (
    STALE_DAYS,
    CarbonIntensity,
    ElectricityPrice,
    ExchangeRate,
    Overhead,
    PurchasePrice,
    RentPrice,
)
from estimator.catalog.text_files import read_text_file
from estimator.errors import InputError, Location, combined, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from estimator.catalog.price_rows import Row
    from estimator.catalog.text_files import SourceText

TABLES: dict[str, type[Row]] = {
    row.table: row
    for row in (PurchasePrice, RentPrice, ElectricityPrice, CarbonIntensity, Overhead, ExchangeRate)
}
_COLUMN_NAMES = {"price_kind": "kind"}
_POSITIVE = frozenset({"price", "rate", "price_per_kwh", "value"})
_MAY_BE_EMPTY = frozenset({"note", "device", "label", "instance", "vcpus", "region", "unit", "name"})


def columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table, in the order they are written."""
    own = [
        f.name for f in fields(TABLES[table]) if f.name not in {"as_of", "source", "licence", "note", "layer"}
    ]
    return (*(_COLUMN_NAMES.get(name, name) for name in own), "as_of", "source", "licence", "note")


def read_table(path: Path, layer: str) -> tuple[Row, ...]:
    """Return the rows of one file; its columns say which table it is. Raises all its errors at once."""
    return parse_table(read_text_file(path), layer)


def parse_table(source: SourceText, layer: str) -> tuple[Row, ...]:
    """Return the rows of a text."""
    reader = csv.reader(io.StringIO(source.text, newline=""))
    heading = [name.strip() for name in next(reader, [])]
    table = _table_of(heading, source.file)
    errors: list[InputError] = []
    rows: list[Row] = []
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        at = Location(source.file, reader.line_num, 1)
        if len(cells) != len(heading):
            errors.append(InputError(f"{len(cells)} cells under {len(heading)} columns", at=at))
            continue
        rows.append(_row(table, dict(zip(heading, cells, strict=True)), layer, at, errors))
    if errors:
        raise combined(errors)
    return tuple(rows)


def _table_of(heading: list[str], file: str) -> str:
    for table in TABLES:
        if set(heading) <= set(columns(table)) and set(required(table)) <= set(heading):
            return table
    best = max(TABLES, key=lambda table: len(set(heading) & set(columns(table))))
    unknown = [name for name in heading if name not in columns(best)]
    missing = [name for name in required(best) if name not in heading]
    at = Location(file, 1, 1)
    if unknown:
        hint = suggestion(unknown[0], columns(best)) or f"columns are {', '.join(columns(best))}"
        raise InputError(f"unknown column {unknown[0]!r} in a table of {best}", at=at, hint=hint)
    raise InputError(f"a table of {best} needs the column {missing[0]!r}", at=at)


def required(table: str) -> tuple[str, ...]:
    """Return the columns a table must have."""
    return tuple(_COLUMN_NAMES.get(f.name, f.name) for f in fields(TABLES[table]) if f.default is MISSING)


def _row(table: str, cells: dict[str, str], layer: str, at: Location, errors: list[InputError]) -> Row:
    """Make one row; what is wrong is added to ``errors`` and the row is then worth nothing."""
    values: dict[str, Any] = {"layer": layer}
    for f in fields(TABLES[table]):
        name = _COLUMN_NAMES.get(f.name, f.name)
        text = cells.get(name, "").strip()
        if name == "layer" or (not text and f.default is not MISSING):
            continue
        try:
            values[f.name] = _value(name, text, str(f.type))
        except ValueError as error:
            errors.append(InputError(f"{name}: {error}", at=at))
            values[f.name] = None
    return TABLES[table](**values)


def _value(name: str, text: str, kind: str) -> object:
    """Read one cell. Raises ValueError with what is wrong."""
    if not text and name not in _MAY_BE_EMPTY:
        raise ValueError("is missing")
    if name == "as_of":
        return _past(day(text))
    if name in {"currency", "to"}:
        return currency_code(text)
    if "float" not in kind and "int" not in kind:
        return text
    return number(text, whole="int" in kind, positive=name in _POSITIVE or "price" in name)


def day(text: str) -> dt.date:
    """Read ``2025-03-07``. Raises ValueError for anything else."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date such as 2025-03-07") from None


def _past(date: dt.date) -> dt.date:
    """Return a day that has begun somewhere. Raises ValueError for one to come."""
    if date > dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=1):
        raise ValueError(f"{date} is in the future")
    return date


def number(text: str, *, whole: bool = False, positive: bool = True) -> float | int:
    """Read a finite number that is not negative (above 0 with ``positive``). Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        raise ValueError(f"{text} is not a number above 0; leave unknown prices out")
    if not whole:
        return value
    if value != int(value):
        raise ValueError(f"{text} is not a whole number")
    return int(value)


def table_text(table: str, rows: Iterable[Row], *, heading: bool = True) -> str:
    """Return rows as the CSV that ``read_table`` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = columns(table)
    by_column = {_COLUMN_NAMES.get(f.name, f.name): f.name for f in fields(TABLES[table])}
    if heading:
        writer.writerow(names)
    for row in rows:
        values = (getattr(row, by_column[name]) for name in names)
        writer.writerow(
            ["" if v is None else f"{v:.15g}" if isinstance(v, float) else str(v) for v in values]
        )
    return out.getvalue()


def known_table(name: str) -> str:
    """Return the name of a table, or raise InputError with the near ones."""
    if name in STALE_DAYS:
        return name
    hint = suggestion(name, STALE_DAYS) or f"tables are {', '.join(STALE_DAYS)}"
    raise InputError(f"unknown table of prices {name!r}", hint=hint)
