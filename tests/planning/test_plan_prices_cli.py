"""``estimator prices`` lists with age, adds what is right, and refuses the rest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.planning.conftest import Run


def test_show_has_source_and_age(run: Run) -> None:
    data = json.loads(run("prices", "show", "RTX 4090", "-f", "json").output)
    (bought,) = [row for row in data["rows"] if row["table"] == "purchase"]
    assert (bought["value"], bought["unit"], bought["as_of"]) == (1417.2, "USD", "2025-03-03")
    assert bought["age_days"] == 90
    assert not bought["stale"]
    assert bought["source"].startswith("http")
    assert bought["licence"]


def test_stale_prices_are_warned_about(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESTIMATOR_TODAY", "2027-01-01")
    shown = run("prices", "show", "RTX 4090")
    assert "(stale)" in shown.output
    assert "warning: older than 1 year: 1 row of purchase; the newest is of 2025-03-03" in shown.output


def test_add_then_show_check_and_export(run: Run, tmp_path: Path) -> None:
    added = run("prices", "add", "purchase", "RTX 4090", "1750", "--currency", "EUR", "--source", "a shop")
    assert added.exit_code == 0, added.output
    data = json.loads(run("prices", "show", "RTX 4090", "-t", "purchase", "-f", "json").output)
    assert [(row["value"], row["unit"], row["layer"]) for row in data["rows"]] == [(1750, "EUR", "user")]
    assert run("prices", "add", "rent", "lambda:8x A100-SXM-80GB", "14.3", "--project").exit_code == 0
    (file,) = (tmp_path / ".estimator" / "prices").glob("*.csv")
    assert run("prices", "check", str(file)).exit_code == 0
    exported = run("prices", "export", "purchase").output
    assert "rtx-4090,RTX 4090,1750,EUR,list,2025-06-01,a shop,own figure," in exported
    copy = tmp_path / "copy.csv"
    copy.write_text(exported)
    assert run("prices", "list", "--prices", str(copy), "--from", "flag", "-f", "json").exit_code == 0


def test_a_second_row_of_a_key_is_kept_as_history(run: Run) -> None:
    for day, price in (("2024-01-01", "0.40"), ("2025-01-01", "0.30")):
        assert run("prices", "add", "electricity", "DEU", price, "--as-of", day).exit_code == 0
    data = json.loads(run("prices", "show", "DEU", "-t", "electricity", "-f", "json").output)
    assert [row["value"] for row in data["rows"]] == [0.40, 0.30]
    listed = json.loads(run("prices", "list", "-t", "electricity", "--from", "user", "-f", "json").output)
    assert [row["value"] for row in listed["rows"]] == [0.30]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "purchase", "RTX 4099", "5"), "did you mean 'RTX 4090'"),
        (("add", "purchase", "RTX 4090", "--", "-5"), "not a number above 0"),
        (("add", "purchase", "RTX 4090", "free"), "'free' is not a number"),
        (("add", "purchase", "RTX 4090", "5", "--currency", "dollar"), "not a currency"),
        (("add", "purchase", "RTX 4090", "5", "--as-of", "2026-13-01"), "not a date"),
        (("add", "purchase", "RTX 4090", "5", "--currency", "QQQ"), "not a currency"),
        (("add", "purchase", "RTX 4090", "5", "--as-of", "2931-01-01"), "in the future"),
        (("add", "rent", "8x A100", "5"), "provider:devices"),
        (("add", "electricity", "Narnia", "0.3"), "unknown region"),
        (("add", "price", "RTX 4090", "5"), "unknown table"),
        (("add", "overheads", "cooling", "1"), "factors are"),
        (("show", "RTX 4099"), "no price of"),
        (("list", "--from", "me"), "unknown layer"),
        (("list", "--prices", "nowhere.csv"), "no file or folder"),
        (("export", "rents"), "did you mean 'rent'"),
    ],
)
def test_mistakes_are_explained(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("prices", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert "Traceback" not in result.output
