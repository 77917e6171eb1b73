"""``estimator networks list`` finds whatever can be named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def names(out: str) -> list[str]:
    answer = json.loads(out)
    assert all(
        list(row) == ["name", "family", "parameters", "forward_flops", "input", "source"]
        for row in answer["networks"]
    )
    return [row["name"] for row in answer["networks"]]


def test_a_word_is_looked_for_in_the_zoo_and_what_was_converted(estimator: Run) -> None:
    found = names(estimator("networks", "list", "ResNet18", "--format", "json").out)
    assert {"resnet18", "timm:resnet18", "torchvision:resnet18"} <= set(found)
    assert "torchvision:resnet34" not in found


def test_without_a_word_the_zoo_is_listed(estimator: Run) -> None:
    found = names(estimator("networks", "list", "--format", "json").out)
    assert "resnet18" in found
    assert not any(":" in name for name in found)


def test_a_family_narrows_what_a_word_finds(estimator: Run) -> None:
    arguments = ("networks", "list", "mask", "rcnn", "--family", "torchvision", "--format", "json")
    assert names(estimator(*arguments).out) == [
        "torchvision:maskrcnn_resnet50_fpn", "torchvision:maskrcnn_resnet50_fpn_v2"
    ]  # fmt: skip


def test_what_is_found_can_be_opened(estimator: Run) -> None:
    (row,) = json.loads(estimator("networks", "list", "eca_nfnet_l0", "--format", "json").out)["networks"]
    total = json.loads(estimator("layers", row["name"], "--format", "json").out)["total"]
    assert total["parameters"] == row["parameters"]
    assert total["forward_flops"] == row["forward_flops"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--family", "resne"), "no networks of family 'resne'; did you mean 'resnet'?"),
        (("maskrcn50",), "no network has 'maskrcn50' in its name or family"),
    ],
)
def test_what_is_not_there_is_said_with_what_is_near(
    estimator: Run, arguments: tuple[str, ...], said: str
) -> None:
    ran = estimator("networks", "list", *arguments)
    assert ran.code == 2
    assert said in ran.err
