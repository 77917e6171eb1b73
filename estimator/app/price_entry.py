"""From what is typed at ``prices add`` to the cells of a row, and the check of devices in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.labels import resolve_label
from estimator.catalog.price_files import known_table
from estimator.catalog.price_rows import PurchasePrice, RentPrice
from estimator.catalog.prices import load_prices
from estimator.errors import InputError, Location, combined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from estimator.catalog.price_rows import Row


def cells_of(table: str, name: str, value: str, said: Mapping[str, str]) -> dict[str, str]:
    """Return the cells of a new row. Raises InputError for an unknown table, device or region."""
    cells = dict(said)
    match known_table(table):
        case "purchase":
            cells |= {"device": resolve_label(name).device.id, "label": name, "price": value, "kind": "list"}
        case "rent":
            cells |= _rent(name, value)
        case "electricity":
            cells |= _region(name) | {"consumer": "own tariff", "price_per_kwh": value}
        case "carbon":
            cells |= _region(name) | {"g_co2e_per_kwh": value}
        case "overheads":
            known = load_prices().overhead(name) if name in _FACTORS else None
            if known is None:
                raise InputError(f"unknown factor {name!r}", hint=f"factors are {', '.join(_FACTORS)}")
            cells |= {"name": name, "value": value, "unit": known.unit, "basis": "measured here"}
        case _:
            currency, _, to = name.partition(":")
            cells |= {"currency": currency, "to": to, "rate": value}
    return cells


_FACTORS = ("busy_power_share", "waiting_power_share", "host_power_share", "cooling_factor")


def _rent(name: str, value: str) -> dict[str, str]:
    """Read ``lambda:8x A100-SXM-80GB`` or ``aws:p3.2xlarge``."""
    provider, separator, what = name.partition(":")
    if not separator or not what.strip():
        raise InputError(
            f"cannot read {name!r} as what is rented",
            hint='write provider:devices, "lambda:8x A100-SXM-80GB"',
        )
    instance = ""
    try:
        resolution = resolve_label(name)
        instance = what.strip()
    except InputError:
        resolution = resolve_label(what)
    return {
        "provider": provider.strip().lower(), "instance": instance, "device": resolution.device.id,
        "label": what.strip(), "count": str(resolution.count), "price_per_hour": value,
    }  # fmt: skip


def _region(name: str) -> dict[str, str]:
    book = load_prices()
    region = book.region(name)
    carbon = book.carbon(region)
    return {"region": region, "name": carbon.name if carbon and "-" not in region else name}


def check_devices(path: Path, rows: Sequence[Row]) -> None:
    """Raise InputError for every row whose device the catalogue does not know."""
    errors = []
    for line, row in enumerate(rows, start=2):
        if isinstance(row, (PurchasePrice, RentPrice)) and row.device:
            try:
                resolve_label(row.device)
            except InputError as error:
                errors.append(InputError(error.message, at=Location(str(path), line, 1), hint=error.hint))
    if errors:
        raise combined(errors)
