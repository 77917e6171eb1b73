"""``estimator evaluate`` as a person runs it: shipped tables, zoo, devices and calibration."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from estimator.cli.main import program

DATA = str(Path(__file__).parents[1] / "golden" / "evaluate" / "rows.csv")
LEFT_OUT = ("source_id=MLPERF", "source_id=LLMFOUNDRY", "source_id=MODELCARD", "source_id=VTRAIN_S")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(program(), ["evaluate", *arguments])
    return result.exit_code, result.output


def test_json_has_errors_groups_ranks_gaps_and_rows() -> None:
    exclude = [part for text in LEFT_OUT for part in ("--exclude", text)]
    code, output = run("--data", DATA, "--format", "json", "--group-by", "device", "--details", *exclude)
    document = json.loads(output)
    assert code == 0
    assert document["schema"] == "estimator/evaluate/1"
    assert document["covered"] == document["overall"]["n"] == len(document["details"]) >= 6
    assert document["overall"]["within_2x"] >= 0.5
    assert set(document["groups"]) == {"device"}
    assert document["ranking"]["groups"] == 1
    assert document["ranking"]["kendall_tau_apart"] >= 0.3


def test_the_screen_starts_with_the_answer() -> None:
    keep_one = [part for text in LEFT_OUT for part in ("--exclude", text)]
    code, output = run("--data", DATA, "--format", "plain", *keep_one)
    assert code == 0
    assert "median error" in output.splitlines()[0]
    assert "not compared" in output


def test_a_file_that_is_no_table_is_told_plainly(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    code, output = run("--data", str(path))
    assert code == 2
    assert "no measurement table" in output
    assert "Traceback" not in output
