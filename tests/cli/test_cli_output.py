"""Where the output goes decides how it looks, never whether it works."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

COMPARE = ("compare", "lenet5", "i7-5960x", "gtx-1080-ti", "rtx-4090")


def test_a_pipe_gets_whole_names_and_no_colour(estimator: Run) -> None:
    ran = estimator(*COMPARE, COLUMNS="40")
    assert ran.code == 0
    assert ran.err == ""
    assert "\x1b" not in ran.out
    assert "NVIDIA GeForce GTX 1080 Ti" in ran.out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_console_encoding(estimator: Run, encoding: str) -> None:
    for arguments in (COMPARE, ("devices", "show", "t4"), ("predict", "gpt2", "-d", "a100-sxm-40gb")):
        ran = estimator(*arguments, PYTHONIOENCODING=f"{encoding}:strict", PYTHONUTF8="0")
        assert ran.code == 0, ran.err
        assert ran.out


def test_a_closed_pipe_is_no_error() -> None:
    shell = f"{sys.executable} -m estimator devices list | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, check=False)  # noqa: S603, S607
    assert done.stderr == b""
    assert b"devices" in done.stdout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_is_not_overrun(columns: int) -> None:
    """Run in a pseudo-terminal: no line is wider than it."""
    controller, terminal = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen(  # noqa: S603 - the program under test
        [sys.executable, "-m", "estimator", *COMPARE], stdout=terminal, stderr=terminal, env=env
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            chunk = os.read(controller, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(controller)
    assert process.wait() == 0
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", output).decode()
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= columns


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        (("detect",), "detect"),
        (("layers", "resnet18", "--batch", "2"), "layers"),
        (("predict", "resnet18", "-d", "t4", "--epochs", "3"), "predict"),
        (COMPARE, "compare"),
        (("devices", "list"), "devices-list"),
        (("devices", "show", "t4"), "device"),
        (("networks", "check", "lenet5"), "networks-check"),
    ],
)
def test_json_follows_the_shipped_schema(estimator: Run, arguments: tuple[str, ...], schema: str) -> None:
    ran = estimator(*arguments, "--format", "json")
    assert ran.code == 0, ran.err
    shipped = json.loads((files("estimator.results") / "schemas" / f"{schema}.json").read_text())
    answer = json.loads(ran.out)
    jsonschema.validate(answer, shipped)
    assert answer["schema"] == shipped["title"]


@pytest.mark.parametrize("suffix", ["json", "csv", "md", "txt"])
def test_a_files_suffix_picks_the_format(estimator: Run, tmp_path: Path, suffix: str) -> None:
    ran = estimator(*COMPARE, "-o", f"answer.{suffix}")
    assert ran.code == 0
    assert ran.out == ""
    text = (tmp_path / f"answer.{suffix}").read_text()
    assert "GTX 1080 Ti" in text
    assert not list(tmp_path.glob(".answer*"))


def test_help_of_every_command(estimator: Run) -> None:
    for command in ((), ("detect",), ("layers",), ("predict",), ("compare",), ("devices",), ("networks",)):
        ran = estimator(*command, "--help")
        assert ran.code == 0
        assert "Usage: " in ran.out


def test_doctor_takes_recorded_answers_of_a_driver(estimator: Run, tmp_path: Path) -> None:
    (tmp_path / "nvml.yaml").write_text("devices: [{nvmlDeviceGetName: Tesla T4}]\n")
    (tmp_path / "tree").mkdir()
    ran = estimator("doctor", "--root", "tree", "--nvml", "nvml.yaml")
    assert ran.code == 0, ran.err
    assert "nvmlDeviceGetName: Tesla T4" in ran.out
