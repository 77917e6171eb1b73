"""``estimator plot`` and ``report`` from the command line: files, formats, and what is refused."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from typer.testing import CliRunner

from estimator.cli.main import program
from estimator.results.report import ReportResult
from estimator.results.roofline import RooflineResult
from estimator.results.schema import json_schema

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(program(), arguments, input=stdin)


PLOTS = (
    ("roofline", "lenet5", "-d", "t4"),
    ("layers", "lenet5", "-d", "t4"),
    ("devices", "lenet5", "-d", "t4", "-d", "2x v100-sxm2-16gb"),
    ("batch", "lenet5", "-d", "t4", "-d", "gtx-1080-ti", "-b", "16..4096*4"),
)


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot[0])
@pytest.mark.parametrize("suffix", [".svg", ".png", ".json", ".csv", ".md", ".html", ".txt"])
def test_every_plot_in_every_format(tmp_path: Path, plot: tuple[str, ...], suffix: str) -> None:
    place = tmp_path / f"plot{suffix}"
    ran = run("plot", *plot, "-o", str(place))
    assert ran.exit_code == 0, ran.output
    assert ran.output == ""
    content = place.read_bytes()
    assert len(content) > 100
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".json": b"{", ".html": b"<!DOCTYPE html>"}
    assert content.startswith(starts.get(suffix, b""))
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]  # nothing half-written is left


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot[0])
def test_every_plot_is_drawn_on_the_spot(plot: tuple[str, ...]) -> None:
    ran = run("plot", *plot)
    assert ran.exit_code == 0
    assert "across: " in ran.stdout
    assert "next: estimator " in ran.stdout


def test_a_table_for_programs_has_every_layer() -> None:
    ran = run("plot", "roofline", "resnet50", "-d", "t4", "--format", "csv")
    rows = list(csv.reader(ran.stdout.splitlines()))
    assert len(rows) > 150


def test_json_of_a_roofline_follows_its_schema() -> None:
    ran = run("plot", "roofline", "lenet5", "-d", "t4", "--format", "json")
    jsonschema.validate(json.loads(ran.stdout), json_schema(RooflineResult))


def test_the_report_from_a_file_on_stdin(tmp_path: Path) -> None:
    text = "format: 1\nname: mine\ninputs:\n  x: {shape: [8]}\nlayers:\n  - {type: Linear, out_features: 4}\n"
    place = tmp_path / "plan.json"
    ran = run("report", "-", "lenet5", "-d", "t4", "--batch", "32", "-o", str(place), stdin=text)
    assert ran.exit_code == 0, ran.output
    data = json.loads(place.read_text(encoding="utf-8"))
    jsonschema.validate(data, json_schema(ReportResult))
    assert [each["network"] for each in data["networks"]] == ["mine", "lenet5"]
    assert data["inputs"]["batch"] == 32
    assert data["command"].startswith("estimator")


@pytest.fixture(scope="module")
def saved_plan(small_report: ReportResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert small_report.plan is not None
    place: Path = tmp_path_factory.mktemp("plan") / "plan.json"
    place.write_text(json.dumps(small_report.plan.to_mapping()), encoding="utf-8")
    return place


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html", ".json"])
def test_a_saved_plan_is_drawn_again(saved_plan: Path, tmp_path: Path, suffix: str) -> None:
    place = tmp_path / f"cost{suffix}"
    ran = run("plot", "cost", str(saved_plan), "-o", str(place))
    assert ran.exit_code == 0, ran.output
    if suffix == ".json":
        assert json.loads(place.read_text()) == json.loads(saved_plan.read_text())
    drawn = run("plot", "cost", "-", stdin=saved_plan.read_text())
    assert "Pareto front" in drawn.stdout


def test_a_report_takes_its_costs_from_a_saved_plan(saved_plan: Path, tmp_path: Path) -> None:
    place = tmp_path / "plan.json"
    ran = run("report", "lenet5", "-d", "t4", "--plan", str(saved_plan), "-o", str(place))
    assert ran.exit_code == 0, ran.output
    assert json.loads(place.read_text())["plan"]["candidates"]
    both = run("report", "lenet5", "-d", "t4", "--plan", str(saved_plan), "--region", "DEU")
    assert both.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "it has no schema"),
        ('{"schema": "estimator/predict/1"}', "'estimator/predict/1', not 'estimator/plan/1'"),
        ('{"schema": "estimator/plan/1"}', "inputs is missing"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_saved_plan_is_refused(text: str, message: str) -> None:
    ran = run("plot", "cost", "-", stdin=text)
    assert ran.exit_code == 2
    assert message in ran.stderr


def test_a_saved_plan_with_another_type_is_refused(saved_plan: Path) -> None:
    data = json.loads(saved_plan.read_text())
    data["candidates"][0]["cost"]["per_run"] = "free"
    ran = run("plot", "cost", "-", stdin=json.dumps(data))
    assert ran.exit_code == 2
    assert "candidates[0].cost.per_run is not float" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plot", "roofline", "lenet5", "-d", "t4", "-o", "x.jpeg"), ".svg, .png or .pdf"),
        (("plot", "roofline", "lenet5", "-d", "t4", "-d", "p100"), "one device"),
        (("plot", "layers", "no_such_network", "-d", "t4"), "no_such_network"),
        (("plot", "accuracy", "--data", "no_such.csv"), "no_such.csv"),
        (("report", "lenet5", "lenet5", "-d", "t4"), "twice"),
        (("report", "-", "-", "-d", "t4"), "stdin"),
        (("report", "lenet5", "-d", "no such device"), "no such device"),
        (("report", "lenet5", "-d", "t4", "-o", "no_such_folder/plan.html"), "cannot write"),
    ],
)
def test_mistakes_end_with_a_message(arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.exit_code == 2, ran.output
    assert ran.stdout == ""
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
