"""CSV is for programs: plain numbers under the names and units of JSON, empty where nothing is known."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

COMMANDS: dict[str, tuple[str, ...]] = {
    "layers": ("layers", "lenet5"),
    "predictions": ("predict", "lenet5", "-d", "t4"),
    "devices": ("devices", "list"),
    "rows": ("prices", "list"),
    "networks": ("networks", "list"),
    "candidates": ("plan", "lenet5", "--samples", "100000", "--epochs", "3"),
}
MORE = (
    ("compare", "lenet5", "t4", "rtx-4090"),
    ("memory", "lenet5", "-d", "t4"),
    ("sweep", "lenet5", "-d", "t4", "--batch", "1,2,4"),
    ("scale", "lenet5", "-d", "t4", "--devices", "1,2"),
    ("plot", "roofline", "lenet5", "-d", "t4"),
    ("plot", "layers", "lenet5", "-d", "t4"),
)
UNIT = re.compile(r"(_s|_bytes|_flops|_flop_per_s|_w|_j|_per_s|parameters|lanes|value)$")
PLAIN = re.compile(r"|-?\d+(\.\d+)?(e[+-]?\d+)?")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("command", [*COMMANDS.values(), *MORE], ids=" ".join)
def test_numbers_are_plain_and_units_stand_in_the_heading(estimator: Run, command: tuple[str, ...]) -> None:
    rows = table(estimator(*command, "--format", "csv").out)
    assert rows
    named = [name for name in rows[0] if UNIT.search(name)]
    assert named
    for row in rows:
        assert [row[name] for name in named if not PLAIN.fullmatch(row[name])] == []
        assert not {"-", "—", "None"} & set(row.values())


@pytest.mark.parametrize("key", list(COMMANDS))
def test_the_rows_are_those_of_json(estimator: Run, key: str) -> None:
    rows = table(estimator(*COMMANDS[key], "--format", "csv").out)
    wanted: list[dict[str, Any]] = json.loads(estimator(*COMMANDS[key], "--format", "json").out)[key]
    assert len(rows) == len(wanted)
    for row, data in zip(rows, wanted, strict=True):
        for name, value in data.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                assert float(row[name]) == value
            elif value is None and name in row:
                assert row[name] == ""


def test_what_is_not_known_is_empty(estimator: Run) -> None:
    rows = {row["id"]: row for row in table(estimator("devices", "list", "--format", "csv").out)}
    assert rows["yitian-710"]["memory_bytes"] == ""
    assert rows["rtx-4090"]["memory_bytes"] == str(24 * 2**30)


def test_layers_of_a_plot_name_their_device(estimator: Run) -> None:
    rows = table(estimator("plot", "layers", "lenet5", "-d", "t4", "--format", "csv").out)
    assert rows[0]["device"] == "t4"
    assert rows[0]["path"] == "Conv2d"
