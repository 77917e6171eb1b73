"""A user's mistake is a message with an exit code, never a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

NETWORK = "inputs: {x: {shape: [8]}}\nlayers: [{type: Linear, out_features: 4}]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("predict", "resnet51"), "did you mean 'resnet50'"),
        (("predict", "resnet50", "--device", "rtx-4091"), "did you mean"),
        (("predict", "resnet50", "-d", "t4", "--precision", "fp33"), "did you mean 'fp32'"),
        (("predict", "resnet50", "-d", "gtx-1080-ti", "--precision", "fp8"), "no fp8 arithmetic"),
        (("predict", "resnet50", "-d", "t4", "--batch", "0"), "--batch"),
        (("predict", "resnet50", "-d", "t4", "--batch", "-3"), "--batch"),
        (("predict", "resnet50", "-d", "t4", "--batch", "many"), "--batch"),
        (("predict", "resnet50", "-d", "t4", "--epochs", "nan"), "--epochs"),
        (("predict", "resnet50", "-d", "t4", "--epochs", "-1"), "--epochs"),
        (("predict", "resnet50", "-d", "t4", "--optimizer", "adm"), "did you mean 'adam'"),
        (("predict", "resnet50", "-d", "t4", "--mode", "egar"), "did you mean 'eager'"),
        (("predict", "resnet50", "-d", "t4", "--set", "imge=2"), "imge"),
        (("predict", "resnet50", "-d", "4x v100-sxm2-16gb", "--link", "nvlink9"), "nvlink"),
        (("predict", "resnet50", "-d", "t4", "--deadline", "soon"), "a time"),
        (("predict", "resnet50", "-d", "t4", "--format", "jsn"), "did you mean 'json'"),
        (("predict", "resnet50", "-d", "t4", "-o", "answer.xyz"), "format"),
        (("layers", "missing.yaml"), "there is no file"),
        (("layers", "."), "is a directory; name a file in it"),
        (("detect", "--root", "nowhere"), "no directory or host record"),
        (("detect", "--root", ""), "--root"),
        (("devices", "show", "voodoo2"), "unknown device"),
        (("devices", "list", "--sort", "beauty"), "one of name"),
        (("predictt",), "No such command"),
    ],
)
def test_one_message_and_exit_code_2(estimator: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = estimator(*arguments)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_errors_of_a_file_show_the_line(estimator: Run, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(
        "inputs: {x: {shape: [3, 32, 32]}}\nlayers:\n  - {type: Conv2D, out_channels: 8, kernel_size: 3}\n"
        "  - {type: Linear, out_feature: 4}\n"
    )
    ran = estimator("layers", "net.yaml")
    assert ran.code == 2
    assert "net.yaml:3:12: unknown layer type 'Conv2D'; did you mean 'Conv2d'?" in ran.err
    assert "net.yaml:4" in ran.err
    assert "^" in ran.err


@pytest.mark.parametrize("content", [b"", b"\x00\x01\xff\xfe", b"a: [1, 2", b"- - - -"])
def test_files_that_are_no_network(estimator: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.yaml").write_bytes(content)
    ran = estimator("layers", "net.yaml")
    assert ran.code == 2
    assert ran.err.startswith("error: net.yaml:")


def test_a_model_that_does_not_fit_is_marked(estimator: Run) -> None:
    asked = ("predict", "vgg16", "-d", "gtx-580", "--batch", "256")
    marked = estimator(*asked)
    assert marked.code == 0
    assert "does NOT fit" in marked.out
    assert estimator(*asked, "--must-fit").code == 1


def test_a_deadline_that_cannot_be_met_is_exit_code_1(estimator: Run) -> None:
    asked = ("predict", "resnet50", "-d", "t4", "--epochs", "90")
    assert estimator(*asked, "--deadline", "1h").code == 1
    assert estimator(*asked, "--deadline", "90 weeks").code == 0


def test_network_from_standard_input(estimator: Run) -> None:
    ran = estimator("layers", "-", stdin=NETWORK)
    assert ran.code == 0
    assert "36 parameters" in ran.out


def test_flags_have_environment_twins(estimator: Run) -> None:
    by_flag = estimator("predict", "lenet5", "-d", "t4", "--batch", "17", "-f", "json")
    by_variable = estimator("predict", "lenet5", "-d", "t4", "-f", "json", ESTIMATOR_BATCH="17")
    assert by_flag.out == by_variable.out


def test_adding_a_profile_in_place_of_a_built_in_one_is_said(estimator: Run, tmp_path: Path) -> None:
    (tmp_path / "t4.yaml").write_text(
        "format: 1\nid: t4\nname: My T4\nvendor: nvidia\nkind: gpu\narchitecture: turing-pro\nunits: 40\n"
        "boost_clock_mhz: 1590\nsources:\n  default: {source: measured by me, basis: measured elsewhere}\n"
    )
    ran = estimator("devices", "add", "t4.yaml")
    assert ran.code == 0, ran.err
    assert "stands in for the built-in t4" in ran.err
    assert "added" in ran.out
