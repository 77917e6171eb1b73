"""The screen of ``estimator prices``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.phrases import NOTHING

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.prices import PriceListResult, PriceRow

_ROWS_SHOWN = 60


def prices_screen(result: PriceListResult, *, most: int | None = _ROWS_SHOWN) -> Screen:
    """Return how many rows there are and how old, then a row each."""
    shown = result.rows[:most] if most else result.rows
    blocks: list[Block] = [
        Answer(_answer(result)),
        Paragraph("currencies as given; flag, environment, project and user files hide bundled rows", "dim"),
        Table(
            name="prices",
            columns=(
                Column("table", "left", optional=True), Column("of", "left"), Column("value"),
                Column("unit", "left"), Column("as of", "left"), Column("age, months"),
                Column("from", "left", optional=True), Column("what", "left", optional=True, fold=True),
                Column("source", "left", optional=True), Column("note", "left", optional=True),
            ),
            rows=tuple(map(_row, shown)),
        ),
    ]  # fmt: skip
    if len(shown) < len(result.rows):
        left = len(result.rows) - len(shown)
        blocks.append(Paragraph(f"{left} more: name a device, region or provider, or use -f csv", "dim"))
    if result.unresolved:
        named = ", ".join(result.unresolved)
        blocks.append(Paragraph(f"priced, but not in the catalogue of devices: {named}", "dim"))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    blocks.append(Paragraph("next: estimator prices add purchase --help", "next"))
    return tuple(blocks)


def _answer(result: PriceListResult) -> str:
    if not result.rows:
        return "no price matches"
    newest = max(row.as_of for row in result.rows)
    oldest = min(row.as_of for row in result.rows)
    count = len(result.rows)
    span = f"of {newest}" if newest == oldest else f"from {oldest} to {newest}"
    return f"{count} {'price' if count == 1 else 'prices'}, {span}"


def _row(row: PriceRow) -> tuple[str, ...]:
    return (
        row.table,
        row.key,
        NOTHING if row.value is None else _figure(row.value),
        row.unit,
        row.as_of,
        f"{row.age_days / 30.44:.0f}{' (stale)' if row.stale else ''}",
        row.layer,
        row.what,
        row.source,
        row.note,
    )


def _figure(value: float) -> str:
    if value >= 1000:  # noqa: PLR2004 - from here on, cents say nothing
        return f"{value:,.0f}"
    return f"{value:,.4g}"
