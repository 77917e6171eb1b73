"""Reading measurement tables: typed rows, and every malformed line by file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from estimator.calibrate.cpu_rows import CPU_DEVICE, read_measurements
from estimator.calibrate.rows import COLUMNS, parse_rows, read_rows
from estimator.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "evaluate"


def table(**cells: str) -> str:
    line = dict.fromkeys(COLUMNS, "") | {
        "model": "resnet50",
        "device": "NVIDIA V100",
        "mode": "train_step",
        "metric": "ms",
        "value": "12.5",
        "num_devices": "8.0",
    }
    return ",".join(COLUMNS) + "\n" + ",".join((line | cells)[name] for name in COLUMNS) + "\n"


def test_reads_figures_as_numbers_and_knows_the_place_of_a_row() -> None:
    (row,) = parse_rows(table(year="2020.0"), "t.csv")
    assert (row.value, row.devices, row.year, str(row.at)) == (12.5, 8, 2020, "t.csv:2:1")


def test_reads_a_gzipped_table_as_it_reads_a_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress((GOLDEN / "rows.csv").read_bytes()))
    plain = read_rows(GOLDEN / "rows.csv")
    assert [row.value for row in read_rows(packed)] == [row.value for row in plain]


def test_keeps_other_predictors_figures_in_seconds() -> None:
    rows = read_rows(GOLDEN / "rows.csv")
    assert set(dict(rows[-1].baselines)) >= {"neusight", "habitat"}
    assert 0.5 < dict(rows[-1].baselines)["neusight"] < 2


def test_reads_the_phase_table_of_cpu_steps() -> None:
    rows = read_measurements(GOLDEN / "cpu_rows.csv")
    assert [row.mode for row in rows[:4]] == ["training_forward", "backward", "optimizer", "train_step"] or {
        row.mode for row in rows[:4]
    } == {"training_forward", "backward", "optimizer", "train_step"}
    assert rows[0].device.startswith(CPU_DEVICE)
    assert (rows[-1].layout, rows[-1].precision) == ("NHWC", "amp-bf16")
    assert (rows[-1].input_shape, rows[-1].model) == ("3x224x224", "cpu:resnet50")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"value": "fast"}, "t.csv:2:1: value is 'fast', not a number"),
        ({"value": "-1"}, "value is -1, must be above 0"),
        ({"value": "nan"}, "must be above 0"),
        ({"value": ""}, "t.csv:2:1: value empty"),
        ({"device": ""}, "device empty"),
        ({"num_devices": "2.5"}, "num_devices is 2.5, must be whole"),
        ({"model": "a,b"}, "another number of cells"),
    ],
)
def test_says_where_a_line_is_malformed(cells: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=r"t\.csv:2") as caught:
        parse_rows(table(**cells), "t.csv")
    assert said in str(caught.value)


def test_says_all_malformed_lines_at_once() -> None:
    text = table(value="x") + table(value="y").split("\n")[1] + "\n"
    with pytest.raises(InputError) as caught:
        parse_rows(text, "t.csv")
    assert "t.csv:2" in str(caught.value)
    assert "t.csv:3" in str(caught.value)


def test_names_the_columns_that_a_table_lacks() -> None:
    with pytest.raises(InputError, match="columns precision, trust missing"):
        parse_rows(",".join(name for name in COLUMNS if name not in ("precision", "trust")) + "\n", "t.csv")


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bnot gzip", b"\xff\xfe\x00bad"])
def test_refuses_what_is_no_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_measurements(path)


def test_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_measurements(tmp_path / "none.csv")
