"""``estimator plot`` and ``report`` from the command line: files, formats, and what is refused."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from typer.testing import CliRunner

from estimator.cli.main import app
from estimator.results.report import ReportResult
from estimator.results.roofline import RooflineResult
from estimator.results.schema import json_schema

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


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
    assert data["command"].startswith("estimator ")


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
