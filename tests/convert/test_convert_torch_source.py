"""PyTorch modules by name: whatever their code does becomes a message, and unknown calls have FLOPs."""

# ruff: noqa: ANN401 - torch is optional, so its modules and tensors have no types
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.catalog.networks import parse_network
from estimator.catalog.text_files import SourceText
from estimator.convert.sources import convert_source
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.convert.sources import Conversion

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

CODE = """
import torch
from torch import nn

class Called(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
    def forward(self, x):
        return self.function(x)

def mlp():
    return nn.Sequential(nn.Linear(8, 4), nn.ReLU())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
    def forward(self, x):
        return self.conv(x)

class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Residuals(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(6)
        )
    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x

def boom():
    raise RuntimeError("boom")

def leaves():
    raise SystemExit(4)

def needs(width):
    return mlp()

def number():
    return 3

instance = mlp()
inverse = lambda: Called(torch.linalg.inv)
real_fourier = lambda: Called(lambda x: torch.fft.rfft(x).abs())
sorting = lambda: Called(lambda x: torch.sort(x)[0])
cholesky = lambda: Called(torch.linalg.cholesky)
odd = lambda: Called(lambda x: torch.cummax(x, 1)[0])
"""


@pytest.fixture
def convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "audited_module.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return lambda name, *inputs: convert_source(f"torch:audited_module:{name}", inputs)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("boom", "audited_module:boom raised RuntimeError: boom"),
        ("leaves", "audited_module:leaves raised SystemExit: 4"),
        ("needs", "it is called without arguments"),
        ("number", "returned int, not a torch.nn.Module"),
    ],
)
def test_a_callable_that_fails_is_an_error_of_the_input(convert: Any, name: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        convert(name, "8")
    assert said in str(error.value)


def test_a_class_that_needs_arguments_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match=r"torch\.nn:Linear raised TypeError"):
        convert_source("torch:torch.nn:Linear", ["8"])


def test_a_module_that_fails_to_import_is_an_error_of_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot import 'broken_module': SystemExit: 3"):
        convert_source("torch:broken_module:build", ["8"])


def test_an_instance_is_taken_as_it_is(convert: Any) -> None:
    network = parse_network(SourceText(file="net.yaml", text=convert("instance", "8").text))
    assert lower(network, Training(batch=1)).parameters == 36


def custom_flops(made: Conversion) -> int:
    (gap,) = made.gaps
    assert f"flops: {gap.flops}" in made.text
    return gap.flops


@pytest.mark.parametrize(
    ("name", "shape", "flops"),
    [
        ("inverse", "4x4", 2 * 4**3), ("cholesky", "6x6", 6**3 // 3),
        ("real_fourier", "16", 5 * 16 * 4 // 2), ("sorting", "16", 16 * 4),
    ],
)  # fmt: skip
def test_what_no_layer_describes_has_the_textbooks_flops(
    convert: Any, name: str, shape: str, flops: int
) -> None:
    made = convert(name, "3x" + shape)
    assert custom_flops(made) == 3 * flops
    assert not made.gaps[0].unknown
    assert made.gaps[0].place.startswith("torch.")


def test_flops_that_are_not_known_are_said_so_and_never_0(convert: Any) -> None:
    made = convert("odd", "5x16")
    assert custom_flops(made) >= 80
    assert made.gaps[0].unknown == "FLOPs"
    assert made.text.startswith("# FLOPs not known: torch.cummax")
    assert parse_network(SourceText(file="net.yaml", text=made.text))


def test_a_shape_that_does_not_fit_is_told_from_a_forward_that_looks_at_values(convert: Any) -> None:
    with pytest.raises(InputError, match=r"fails with x 3x32 \(float32\).*check --input"):
        convert("Net", "3x32")
    with pytest.raises(InputError, match="looks at values cannot be traced"):
        convert("Branch", "8")


@pytest.mark.parametrize("shape", ["3x99999999x99999999", "3x0x4"])
def test_an_input_of_no_possible_size_is_refused_early(convert: Any, shape: str) -> None:
    with pytest.raises(InputError, match="--input"):
        convert("Net", shape)


def test_equal_blocks_are_one_repeat_from_the_first_on(convert: Any) -> None:
    text = convert("Residuals", "8x16x16").text
    assert "repeat: 6" in text
    assert text.count("type: Residual") == 1
