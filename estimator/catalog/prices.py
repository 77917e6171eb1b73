"""All prices in reach: bundled ones, with those of user, project, environment and flags before them."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from estimator.catalog.lookup import all_devices
from estimator.catalog.price_files import read_table
from estimator.catalog.price_rows import (
    CarbonIntensity,
    Dated,
    ElectricityPrice,
    ExchangeRate,
    Overhead,
    PurchasePrice,
    RentPrice,
)
from estimator.catalog.store import bundled_root, override_roots
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from estimator.catalog.price_rows import Row

VARIABLE = "ESTIMATOR_PRICES"
FOLDER = "prices"
PROJECT = ".estimator"
LAYERS = ("flag", "environment", "project", "user", "bundled", "launch")
R = TypeVar("R", bound=Dated)


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Rows of all files, strongest layer first; of one key only those of the strongest layer count."""

    rows: tuple[Row, ...]

    def of(self, kind: type[R]) -> tuple[R, ...]:
        """Return all rows of one table that count, history included."""
        strongest: dict[str, str] = {}
        found = []
        for row in self.rows:
            if isinstance(row, kind):
                layer = strongest.setdefault(row.key, row.layer)
                if layer == row.layer:
                    found.append(row)
        return tuple(found)

    def current(self, kind: type[R]) -> dict[str, R]:
        """Return the newest row of each key; of several of one day the last written."""
        newest: dict[str, R] = {}
        for row in self.of(kind):
            key = row.key
            if key not in newest or row.as_of >= newest[key].as_of:
                newest[key] = row
        return newest

    def purchases(self) -> dict[str, PurchasePrice]:
        """Return the newest price of each device that can be bought; estimates of makers' costs cannot."""
        sold = [row for row in self.of(PurchasePrice) if row.price_kind != "estimate" and row.device]
        newest: dict[str, PurchasePrice] = {}
        for row in sold:
            if row.device not in newest or row.as_of >= newest[row.device].as_of:
                newest[row.device] = row
        return newest

    def rents(self) -> tuple[RentPrice, ...]:
        """Return the newest price of each instance or device of each provider, the lowest of that day."""
        newest: dict[str, RentPrice] = {}
        for row in self.of(RentPrice):
            known = newest.get(row.key)
            if row.price_per_hour is None or (known and known.as_of > row.as_of):
                continue
            if known is None or known.as_of < row.as_of or (known.price_per_hour or 0) > row.price_per_hour:
                newest[row.key] = row
        return tuple(newest.values())

    def electricity(self, region: str) -> ElectricityPrice | None:
        """Return the price in a region; of a state without one its country's is not taken."""
        return self.current(ElectricityPrice).get(region)

    def carbon(self, region: str) -> CarbonIntensity | None:
        """Return the intensity in a region, of a state that of its country."""
        known = self.current(CarbonIntensity)
        return known.get(region) or known.get(region.partition("-")[0])

    def overhead(self, name: str) -> Overhead:
        """Return a factor by name."""
        return self.current(Overhead)[name]

    def region(self, text: str) -> str:
        """Return the code of a region by code or name (DEU, Germany, USA-CA). Raises InputError."""
        names: dict[str, str] = {}
        for carbon in self.current(CarbonIntensity).values():
            names[carbon.region.lower()] = names[carbon.name.lower()] = carbon.region
        for power in self.current(ElectricityPrice).values():
            names[power.region.lower()] = names[power.name.lower()] = power.region
        found = names.get(text.strip().lower())
        if found is None:
            hint = suggestion(text, names) or "give a country as DEU or Germany, a US state as USA-CA"
            raise InputError(f"unknown region {text!r}", hint=hint)
        return found

    def rate(self, currency: str, to: str) -> ExchangeRate | None:
        """Return how many ``to`` one ``currency`` is, from a dated row or its inverse; None without one."""
        known = self.current(ExchangeRate)
        direct = known.get(f"{currency}:{to}")
        if direct is not None:
            return direct
        inverse = known.get(f"{to}:{currency}")
        if inverse is None:
            return None
        return replace(inverse, currency=currency, to=to, rate=1 / inverse.rate)


def load_prices(given: Sequence[Row] = (), files: Sequence[Path] = ()) -> PriceBook:
    """Return the prices; ``given`` rows and ``files`` are those of flags. Raises all errors of a file."""
    rows: list[Row] = [*given]
    for layer, path in (*(("flag", p) for p in files), *_layers()):
        for file in _tables(path, layer):
            rows += read_table(file, layer)
    return PriceBook((*rows, *_launch_prices()))


def _layers() -> Iterator[tuple[str, Path]]:
    """Give the folders (or files) of each layer below the flags, strongest first."""
    for entry in os.environ.get(VARIABLE, "").split(os.pathsep):
        if entry:
            yield "environment", Path(entry).expanduser()
    project = project_folder()
    if project is not None:
        yield "project", project
    for root in override_roots():
        if (root / FOLDER).is_dir():
            yield "user", root / FOLDER
    yield "bundled", bundled_root() / FOLDER


def project_folder() -> Path | None:
    """Return ``.estimator/prices`` of this folder or the nearest one above it that has it."""
    here = Path.cwd()
    return next(
        (p / PROJECT / FOLDER for p in (here, *here.parents) if (p / PROJECT / FOLDER).is_dir()), None
    )


def _tables(path: Path, layer: str) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.csv"))
    if path.is_file():
        return [path]
    named = "--prices" if layer == "flag" else VARIABLE
    raise InputError(f"{named}: there is no file or folder {str(path)!r}")


def _launch_prices() -> Iterator[PurchasePrice]:
    """Give the launch prices that device profiles state, the weakest layer of all."""
    for device in all_devices():
        if device.launch_price_usd and device.released:
            stated = device.provenance.get("launch_price_usd")
            yield PurchasePrice(
                device=device.id,
                label=device.name,
                price=float(device.launch_price_usd),
                currency="USD",
                price_kind="launch",
                as_of=dt.date.fromisoformat(device.released),
                source=stated.source if stated else "device profile",
                licence="facts, cited",
                layer="launch",
            )


def unresolved(book: PriceBook) -> tuple[str, ...]:
    """Return the labels of rows whose device is not in the catalogue."""
    labels = {row.label for row in book.of(PurchasePrice) if not row.device}
    labels |= {row.label for row in book.of(RentPrice) if not row.device}
    return tuple(sorted(labels))


def newest_day(rows: Sequence[Dated]) -> dt.date | None:
    """Return the day of the newest row."""
    return max((row.as_of for row in rows), default=None)
