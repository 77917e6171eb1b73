"""The use cases of ``estimator prices``: list, show, add and export dated rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.catalog.labels import resolve_label
from estimator.catalog.price_files import TABLES, known_table, parse_table, table_text
from estimator.catalog.price_rows import STALE_DAYS, PurchasePrice, RentPrice
from estimator.catalog.prices import FOLDER, PROJECT, unresolved
from estimator.catalog.store import user_root
from estimator.catalog.text_files import SourceText, read_text_file
from estimator.errors import InputError
from estimator.results.prices import PriceListResult, PriceRow
from estimator.units import counted

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from estimator.catalog.price_rows import Row
    from estimator.catalog.prices import PriceBook

_DAYS_A_YEAR = 365.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows: all fields None means all that count now."""

    table: str | None = None
    name: str | None = None
    layer: str | None = None
    stale: bool = False
    history: bool = False


def list_prices(book: PriceBook, wanted: Wanted, today: dt.date) -> PriceListResult:
    """Return the rows asked for. Raises InputError when a name matches none."""
    tables = [known_table(wanted.table)] if wanted.table else list(TABLES)
    rows = [_row(row, today) for table in tables for row in _rows(book, table, history=wanted.history)]
    if wanted.name is not None:
        rows = _named(rows, wanted.name)
    if wanted.layer is not None:
        rows = [row for row in rows if row.layer == wanted.layer]
    if wanted.stale:
        rows = [row for row in rows if row.stale]
    return PriceListResult(
        today=today.isoformat(),
        history=wanted.history,
        rows=tuple(sorted(rows, key=lambda r: (list(TABLES).index(r.table), r.key, r.as_of))),
        unresolved=unresolved(book),
        warnings=tuple(staleness(rows)),
    )


def staleness(rows: Sequence[PriceRow]) -> list[str]:
    """Say for each table how many rows are stale, and from when the newest is."""
    said = []
    for table in TABLES:
        stale = [row for row in rows if row.table == table and row.stale]
        if stale:
            newest = max(row.as_of for row in rows if row.table == table)
            years = STALE_DAYS[table] / _DAYS_A_YEAR
            said.append(
                f"older than {counted(round(years), 'year')}: {counted(len(stale), 'row')} of {table}; "
                f"the newest is of {newest}"
            )
    return said


def _rows(book: PriceBook, table: str, *, history: bool) -> Sequence[Row]:
    kind = TABLES[table]
    if history:
        return book.of(kind)
    return book.rents() if kind is RentPrice else tuple(book.current(kind).values())


def _named(rows: Sequence[PriceRow], name: str) -> list[PriceRow]:
    """Return the rows of a device, region, provider or instance."""
    wanted = {name.strip().lower()}
    with suppress(InputError):
        wanted.add(resolve_label(name).device.id)
    found = [row for row in rows if wanted & _names(row)]
    if not found:
        raise InputError(
            f"no price of {name!r}",
            hint="'estimator prices list' shows all; add yours with 'estimator prices add'",
        )
    return found


def _names(row: PriceRow) -> set[str]:
    key = row.key.lower()
    provider, _, instance = key.partition(":")
    device = instance.partition("x ")[2]
    parts = {key, provider, instance, device} if row.table == "rent" else {key}
    words = row.what.lower().split(", ")
    return {part for part in (*parts, *words) if part}


def _row(row: Row, today: dt.date) -> PriceRow:
    value, unit, what = _figure(row)
    age = row.age_days(today)
    return PriceRow(
        table=row.table, key=row.key, what=what, value=value, unit=unit, as_of=row.as_of.isoformat(),
        age_days=age, stale=age > STALE_DAYS[row.table], layer=row.layer, source=row.source,
        licence=row.licence, note=row.note,
    )  # fmt: skip


def _figure(row: Row) -> tuple[float | None, str, str]:
    """Return the figure of a row, its unit and what it is of."""
    from estimator.catalog import price_rows as r

    match row:
        case PurchasePrice():
            return row.price, row.currency, f"{row.label}, {row.price_kind}"
        case RentPrice():
            return row.price_per_hour, f"{row.currency}/h", f"{row.count}x {row.device or row.label}"
        case r.ElectricityPrice():
            return row.price_per_kwh, f"{row.currency}/kWh", f"{row.name}, {row.consumer}"
        case r.CarbonIntensity():
            return row.g_co2e_per_kwh, "g CO2e/kWh", row.name
        case r.Overhead():
            return row.value, row.unit, row.name.replace("_", " ")
        case _:
            return row.rate, f"{row.to} for one {row.currency}", f"{row.currency} in {row.to}"


def add_row(table: str, cells: Mapping[str, str], folder: Path) -> Path:
    """Append a row to a table of the user's or the project's, once it is right; return the file."""
    known_table(table)
    rows = parse_table(SourceText("the new row", _one_row(table, cells)), "user")
    path = folder / f"{table}.csv"
    before = read_text_file(path).text if path.is_file() else table_text(table, ())
    text = before.rstrip("\n") + "\n" + table_text(table, rows, heading=False)
    parse_table(SourceText(str(path), text), "user")  # the whole file must stay readable
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return path


def _one_row(table: str, cells: Mapping[str, str]) -> str:
    import csv
    import io

    from estimator.catalog.price_files import columns

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns(table))
    writer.writerow([cells.get(name, "") for name in columns(table)])
    return out.getvalue()


def added_to(*, project: bool, here: Path) -> Path:
    """Return the folder that ``prices add`` writes to."""
    return here / PROJECT / FOLDER if project else user_root() / FOLDER


def export_text(book: PriceBook, table: str, *, history: bool) -> str:
    """Return a table's rows that count as the CSV that can be edited and read again."""
    return table_text(known_table(table), _rows(book, table, history=history))
