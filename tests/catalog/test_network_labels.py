"""Labels of measurement tables and of tables of counts name networks, with what they say of parameters."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from estimator.catalog.near_networks import near_network
from estimator.catalog.networks import find_network, load_network, zoo
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

MODELS = Path(__file__).parent.parent / "golden" / "models.csv"


def counted(name: str) -> tuple[int, int]:
    workload = lower(load_network(name), Training(batch=1))
    forward = sum(layer.forward_flops for layer in workload.layers if not layer.training_only)
    return workload.parameters, forward


def refusal(name: str) -> str:
    with pytest.raises(InputError) as caught:
        load_network(name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("label", "name", "params"),
    [
        ("GNMT v2", "gnmt", {}),
        ("NeuMF (NCF)", "neumf", {"users": 138493, "items": 26744}),
        ("Mask R-CNN R50-FPN", "mask_rcnn_resnet50_fpn", {}),
        ("alexnet (BVLC, group=1)", "alexnet_bvlc", {"groups": 1}),
        ("ALEXNET (bvlc grouped)", "alexnet_bvlc", {"groups": 2}),
        ("ViT-B/16", "vit_b_16", {"image": 224}),
        ("resnet56 (CIFAR10)", "resnet_cifar", {"depth": 56}),
    ],
)
def test_a_label_names_a_network_and_its_parameters(label: str, name: str, params: dict[str, int]) -> None:
    network = load_network(label)
    assert network.name == name
    assert {key: network.parameters[key] for key in params} == params


def test_parameters_can_still_be_set() -> None:
    assert load_network("NeuMF (NCF)", ["users=5"]).parameters["users"] == 5


def test_a_label_of_a_converted_network_is_its_text() -> None:
    assert find_network("swin_v2_cr_tiny_224").file == "timm:swinv2_cr_tiny_224.yaml"


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("Transformer-XL-base", "write transformer_xl --set layers=…"),
        ("KervResNet34 (CIFAR10)", "kernel convolutions of unknown cost"),
        ("FastSpeech", "nothing here describes it"),
    ],
)
def test_a_label_that_says_too_little_says_what_is_missing(label: str, hint: str) -> None:
    assert refusal(label).startswith(f"unknown network {label!r}; ")
    assert hint in refusal(label)


def test_the_names_of_the_table_of_counts_are_names() -> None:
    with MODELS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] not in zoo()]
    assert len(rows) > 50
    small = [row for row in rows if int(row["parameters"]) < 10**8]
    for row in rows:
        assert find_network(row["model"]).text
    for row in small:
        assert counted(row["model"]) == (int(row["parameters"]), int(row["forward_flops"])), row["model"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("unet", "unet_2d"),
        ("mask rcnn", "mask_rcnn_resnet50_fpn"),
        ("rcnn mask", "mask_rcnn_resnet50_fpn"),
        ("resnt50", "resnet50"),
        ("bert", "bert_base"),
    ],
)
def test_beginnings_and_words_are_nearer_than_letters(name: str, near: str) -> None:
    assert near_network(name, zoo()) == f"did you mean {near!r}?"


def test_a_near_name_may_be_a_converted_one() -> None:
    assert "did you mean 'eca_nfnet_l0'?" in refusal("eca_nfnet")
    assert "did you mean 'torchvision:resnet50'?" in refusal("torchvison:resnet50")
    assert "did you mean 'timm:resnet50'?" in refusal("tmm:resnet5O")
