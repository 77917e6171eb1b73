"""Price tables: every shipped row is dated, sourced and of a known device; files go before one another."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.labels import resolve_label
from estimator.catalog.price_files import TABLES, parse_table, read_table, table_text
from estimator.catalog.price_rows import ElectricityPrice, PurchasePrice, RentPrice
from estimator.catalog.prices import PriceBook, load_prices, unresolved
from estimator.catalog.store import bundled_root
from estimator.catalog.text_files import SourceText
from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.catalog.price_rows import Row

NOT_CATALOGUED = (
    "Cerebras CS-1",
    "Cerebras CS-2",
    "Google TPU v1",
    "GroqChip LPU v1",
    "Intel Xeon Phi 31S1P",
)


def shipped() -> list[Row]:
    return [
        row
        for path in sorted((bundled_root() / "prices").glob("*.csv"))
        for row in read_table(path, "bundled")
    ]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Go to an empty folder, without prices of this machine's user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    for name in ("ESTIMATOR_PRICES", "ESTIMATOR_PROFILES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_row_says_from_when_and_from_whom() -> None:
    rows = shipped()
    assert {row.table for row in rows} == set(TABLES)
    assert len(rows) > 900
    for row in rows:
        assert row.source, row
        assert row.licence, row
        assert dt.date(2005, 1, 1) < row.as_of < dt.date(2027, 1, 1), row


def test_every_device_is_catalogued_or_listed_as_not() -> None:
    for row in shipped():
        if isinstance(row, (PurchasePrice, RentPrice)) and row.device:
            assert resolve_label(row.device), row
    assert unresolved(PriceBook(tuple(shipped()))) == NOT_CATALOGUED


def test_shipped_tables_are_read_back_as_they_are_written() -> None:
    for table, kind in TABLES.items():
        rows = [row for row in shipped() if isinstance(row, kind)]
        again = parse_table(SourceText("again", table_text(table, rows)), "bundled")
        assert list(again) == rows


ROW = "device,label,price,currency,as_of,source,licence\nrtx-4090,RTX 4090,{price},EUR,{day},shop,own\n"


def put(path: Path, price: float, day: str = "2025-05-01") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROW.format(price=price, day=day))
    return path


def test_a_stronger_file_hides_a_weaker_even_when_older(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def price() -> tuple[float, str]:
        row = load_prices(files=files).purchases()["rtx-4090"]
        return row.price, row.layer

    files: list[Path] = []
    assert price()[1] == "bundled"
    put(bare / "config" / "estimator" / "profiles" / "prices" / "purchase.csv", 1, "2019-01-01")
    assert price() == (1, "user")
    put(bare / ".estimator" / "prices" / "purchase.csv", 2, "2018-01-01")
    assert price() == (2, "project")
    monkeypatch.setenv("ESTIMATOR_PRICES", str(put(bare / "shell.csv", 3)))
    assert price() == (3, "environment")
    files = [put(bare / "flag.csv", 4)]
    assert price() == (4, "flag")


def test_a_project_is_found_from_a_folder_inside_it(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / ".estimator" / "prices" / "purchase.csv", 2)
    (bare / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(bare / "deep" / "er")
    assert load_prices().purchases()["rtx-4090"].layer == "project"


@pytest.mark.usefixtures("bare")
def test_launch_prices_stand_in_where_no_table_has_a_price() -> None:
    rows = load_prices().purchases()
    assert rows["rtx-5090"].layer == "launch"
    assert rows["rtx-5090"].price == 1999
    assert rows["rtx-4090"].layer == "bundled"


@pytest.mark.usefixtures("bare")
def test_estimates_of_makers_costs_are_no_offers() -> None:
    assert not any(device.startswith("tpu") for device in load_prices().purchases())


def test_the_newest_row_counts() -> None:
    rows = [
        ElectricityPrice(
            region="DEU", name="Germany", consumer="household", price_per_kwh=price, currency="EUR",
            as_of=dt.date(year, 1, 1), source="s", licence="l",
        )
        for year, price in ((2023, 0.4), (2025, 0.3), (2024, 0.35))
    ]  # fmt: skip
    found = PriceBook(tuple(rows)).electricity("DEU")
    assert found is not None
    assert found.price_per_kwh == 0.3


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("said", "code"), [("DEU", "DEU"), ("germany", "DEU"), ("USA-CA", "USA-CA"), ("California", "USA-CA")]
)
def test_regions_by_code_and_name(said: str, code: str) -> None:
    assert load_prices().region(said) == code


@pytest.mark.usefixtures("bare")
def test_an_unknown_region_is_an_error_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'germany'"):
        load_prices().region("Germny")


@pytest.mark.usefixtures("bare")
def test_rates_work_both_ways_and_missing_ones_are_missing() -> None:
    book = load_prices()
    there, back = book.rate("EUR", "USD"), book.rate("USD", "EUR")
    assert there is not None
    assert back is not None
    assert there.rate * back.rate == pytest.approx(1)
    assert book.rate("USD", "JPY") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device,prise\nx,1\n", r"bad:1:1: unknown column 'prise'.*did you mean 'price'"),
        ("device,price,currency\nx,1,USD\n", "needs the column"),
        (ROW.format(price=-5, day="2025-05-01"), "bad:2:1: price: -5 is not a number above 0"),
        (ROW.format(price="nan", day="2025-05-01"), "bad:2:1: price: nan"),
        (ROW.format(price=0, day="2025-05-01"), "leave unknown prices out"),
        (ROW.format(price=5, day="May"), "'May' is not a date"),
        (ROW.format(price=5, day="2025-05-01").replace("EUR", "Euro"), "not a currency"),
        (ROW.format(price=5, day="2025-05-01").replace(",shop,", ",,"), "source: is missing"),
        (ROW.format(price=5, day="2025-05-01") + "rtx-4090,x\n", "bad:3:1: 2 cells under 7 columns"),
    ],
)
def test_mistakes_in_files_are_placed(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_table(SourceText("bad", text), "user")
