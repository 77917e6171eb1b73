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
