"""Networks in other formats become YAML that counts the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

MODEL = """
import torch

def build():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10),
    )
"""


@pytest.mark.torch
def test_a_pytorch_module(estimator: Run, tmp_path: Path) -> None:
    (tmp_path / "tiny_model.py").write_text(MODEL)
    ran = estimator("convert", "torch:tiny_model:build", "--input", "3x32x32", "-o", "tiny.yaml")
    assert ran.code == 0, ran.err
    counted = json.loads(estimator("layers", "tiny.yaml", "-f", "json").out)["total"]
    assert counted["parameters"] == 3 * 8 * 9 + 8 + 16 + 90
    assert counted["forward_flops"] == 2 * (32 * 32 * 8 * 27 + 80)


def test_a_hugging_face_configuration(estimator: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps(
            {
                "model_type": "gpt2",
                "n_layer": 12,
                "n_head": 12,
                "n_embd": 768,
                "vocab_size": 50257,
                "n_positions": 1024,
            }
        )
    )
    ran = estimator("convert", "hf:config.json")
    assert ran.code == 0, ran.err
    counted = json.loads(estimator("layers", "-", "-f", "json", stdin=ran.out).out)["total"]
    assert counted["parameters"] == 124_439_808


def test_an_architecture_of_timm_needs_no_timm(estimator: Run) -> None:
    ran = estimator("convert", "timm:resnet18")
    assert ran.code == 0, ran.err
    counted = json.loads(estimator("layers", "-", "-f", "json", stdin=ran.out).out)["total"]
    assert counted["parameters"] == 11_689_512


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("tomm:x", "did you mean 'timm'"),
        ("timm:resnet_eighteen", "timm"),
        ("onnx:missing.onnx", "there is no file"),
        ("hf:missing.json", "there is no file"),
        ("torch:nothing_here:build", "add --input"),
    ],
)
def test_what_cannot_be_converted_says_why(estimator: Run, source: str, said: str) -> None:
    ran = estimator("convert", source)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("torchvision:", "the source 'torchvision:' names nothing; write torchvision:NAME"),
        ("hf:", "write hf:config.json"),
        ("timm:resnet5", "did you mean 'timm:resnet50'?"),
    ],
)
def test_a_source_without_a_known_name_says_what_to_write(estimator: Run, source: str, said: str) -> None:
    ran = estimator("convert", source)
    assert ran.code == 2
    assert said in ran.err


def test_the_output_is_not_written_under_a_name_of_another_format(estimator: Run, tmp_path: Path) -> None:
    ran = estimator("convert", "timm:resnet18", "-o", "net.json")
    assert ran.code == 2
    assert "write to net.yaml" in ran.err
    assert not (tmp_path / "net.json").exists()


def test_what_was_read_is_counted_before_it_is_written(estimator: Run, tmp_path: Path) -> None:
    config = {
        "model_type": "swin", "embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 5, 12, 24],
        "window_size": 7, "image_size": 224,
    }  # fmt: skip
    (tmp_path / "swin.json").write_text(json.dumps(config))
    ran = estimator("convert", "hf:swin.json", "-o", "swin.yaml")
    assert ran.code == 2
    assert ran.err.startswith("error: hf:swin.json: what it describes cannot be a network")
    assert not (tmp_path / "swin.yaml").exists()


def test_notes_and_gaps_are_told_beside_the_text(estimator: Run, tmp_path: Path) -> None:
    layers = [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 8], "name": "in"}},
        {"class_name": "Fancy", "config": {"name": "odd"}},
        {
            "class_name": "Dense",
            "config": {"name": "d", "units": 3},
            "build_config": {"input_shape": [None, 8]},
        },
    ]
    model = {"class_name": "Sequential", "config": {"layers": layers}}
    (tmp_path / "model.json").write_text(json.dumps(model))
    ran = estimator("convert", "keras:model.json")
    assert ran.code == 0
    assert "warning: odd: FLOPs and parameters not known" in ran.err
    assert "# FLOPs and parameters not known: odd (Fancy)" in ran.out
