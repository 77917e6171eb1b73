"""``estimator measure``: its JSON, its exit codes, and what it does without PyTorch."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from typer.testing import CliRunner

from estimator.cli.main import program
from estimator.results.measurement import MeasurementResult
from estimator.results.schema import json_schema

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

pytestmark = pytest.mark.usefixtures("own_folder")
SHORT = ("--for", "0.3s", "--threads", "1", "--cpu-time")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(program(), [str(a) for a in arguments])


def measured(path: Path, *more: str) -> dict[str, Any]:
    done = run("measure", str(path), *SHORT, "--format", "json", *more)
    assert done.exit_code == 0, done.output
    data: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(data, json_schema(MeasurementResult))
    return data


@pytest.mark.torch
def test_predicted_beside_measured(tiny: Path) -> None:
    pytest.importorskip("torch")
    data = measured(tiny, "--batch", "16")
    assert data["inputs"]["batch"] == 16
    step, said = data["measured"]["step_s"], data["predicted"]["step_s"]
    assert step["steps"] >= 3
    assert data["error"]["step"] == pytest.approx(said["expected"] / step["median"] - 1)
    assert data["error"]["inside"] == (said["low"] <= step["median"] <= said["high"])
    assert [e["path"] for e in data["error"]["layers"]] == [e["path"] for e in data["measured"]["layers"]]
    assert set(data["measured"]["phases"]) == {"forward_s", "backward_s", "optimizer_s", "communication_s"}
    assert data["measured"]["memory_peak_bytes"] > 0
    assert data["device"]["kind"] == "cpu"


@pytest.mark.torch
def test_the_screen_says_both_and_the_error(tiny: Path) -> None:
    pytest.importorskip("torch")
    done = run("measure", str(tiny), *SHORT, "--format", "plain")
    first = done.stdout.splitlines()[0]
    assert "tiny" in first
    assert "predicted" in first
    assert " %)" in first
    assert "by phase" in done.stdout
    assert "Residual.BatchNorm2d" in done.stdout


@pytest.mark.torch
def test_an_interrupted_measurement_is_written_and_leaves_with_130(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from estimator.measure.session import measure_step

    monkeypatch.setattr(
        "estimator.app.measurement.measure_step",
        lambda order, progress: replace(measure_step(order, progress), interrupted=True),
    )
    target = tmp_path / "out.json"
    done = run("measure", str(tiny), *SHORT, "-o", str(target))
    assert done.exit_code == 130
    data = json.loads(target.read_text(encoding="utf-8"))
    assert data["measured"]["interrupted"]
    assert "interrupted after" in data["warnings"][0]


def test_without_pytorch_products_are_timed_and_said_to_be_such(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("estimator.app.measurement.has_torch", lambda: False)
    data = measured(tiny)
    assert data["measured"]["method"] == "numpy"
    assert "PyTorch is not installed" in data["warnings"][0]
    assert [part["path"] for part in data["measured"]["layers"]] == ["matrix products", "other traffic"]
    parts = sum(part["forward_s"] for part in data["measured"]["layers"])
    assert data["measured"]["step_s"]["median"] == pytest.approx(parts, rel=1e-6)
    screen = run("measure", str(tiny), *SHORT).stdout
    assert "products and traffic of a step" in screen


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "which network?"),
        (("nosuchnet",), 2, "unknown network"),
        (("lenet5", "--for", "soon"), 2, "cannot read 'soon'"),
        (("lenet5", "--for", "0s"), 2, "not a time to measure for"),
        (("lenet5", "--device", "cuda:7"), 2, "cuda:7"),
        (("lenet5", "--data", "/nowhere"), 2, "not a folder"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run("measure", *arguments)
    assert done.exit_code == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.torch
def test_failures_leave_with_3_and_nothing_half_written(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    target = tmp_path / "out.json"
    done = run("measure", str(tiny), *SHORT, "--precision", "fp8", "-o", str(target))
    assert done.exit_code == 3
    assert "Transformer Engine" in done.stderr
    assert list(tmp_path.glob("*out.json*")) == []


@pytest.mark.torch
def test_a_network_too_big_for_the_memory_is_refused(tiny: Path) -> None:
    pytest.importorskip("torch")
    done = run("measure", str(tiny), *SHORT, "--batch", "1000000000")
    assert done.exit_code == 3
    assert "the step needs about" in done.stderr
    assert "--batch" in done.stderr
