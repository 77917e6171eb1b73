"""The command that a screen proposes last is one that works: it is run here."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

NETWORK = """\
format: 1
name: my own
inputs: {x: {shape: [3, 32, 32]}}
layers: [{type: Conv2d, out_channels: 8, kernel_size: 3}]
"""
DEVICE = ("--device", "rtx-4090")
COMMANDS = (
    ("layers",),
    ("networks", "check"),
    ("predict", *DEVICE),
    ("compare", "rtx-4090"),
    ("compare", "cpu"),
    ("compare", "2x RTX 4090"),
    ("memory", *DEVICE),
    ("sweep", *DEVICE, "--batch", "1,2"),
    ("scale", *DEVICE, "--devices", "1,2"),
    ("plot", "layers", *DEVICE),
    ("plot", "roofline", *DEVICE),
    ("plot", "devices", *DEVICE),
)


def next_of(out: str) -> list[str]:
    """Return the arguments of the command that a screen proposes."""
    (line,) = [line for line in out.splitlines() if line.startswith("next: estimator ")]
    return shlex.split(line.removeprefix("next: estimator "))


def asked(command: tuple[str, ...], network: str) -> tuple[str, ...]:
    """Return a command with the network where it belongs: behind the command's own words."""
    words = 2 if command[0] in ("networks", "plot") else 1
    return (*command[:words], network, *command[words:])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_with_a_space_and_another_name_inside(
    estimator: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "its file.yaml").write_text(NETWORK, encoding="utf-8")
    ran = estimator(*asked(command, "its file.yaml"))
    assert ran.code == 0, ran.err
    following = next_of(ran.out)
    assert "its file.yaml" in following
    assert estimator(*following).code == 0


@pytest.mark.parametrize("command", COMMANDS[:3], ids=" ".join)
def test_standard_input(estimator: Run, command: tuple[str, ...]) -> None:
    ran = estimator(*asked(command, "-"), stdin=NETWORK)
    following = next_of(ran.out)
    assert "-" in following
    assert "<stdin>" not in following


def test_a_converted_network_keeps_its_package(estimator: Run) -> None:
    assert next_of(estimator("networks", "check", "timm:resnet18").out) == ["layers", "timm:resnet18"]


def test_one_layer_is_a_layer(estimator: Run) -> None:
    assert "no errors, 1 layer\n" in estimator("networks", "check", "-", stdin=NETWORK).out
