from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.converted import (
    converted_index,
    converted_names,
    converted_source,
    converted_text,
    find_converted,
)
from estimator.catalog.networks import parse_network
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from estimator.networks.graph import Network

GOLDEN = Path(__file__).parent.parent / "golden" / "converted_counts.csv"


def network(name: str, *overrides: str) -> Network:
    return parse_network(converted_source(name), overrides)


def test_counts_equal_the_golden_ones() -> None:
    with GOLDEN.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 70
    for row in rows:
        sizes = tuple(int(n) for n in row["input"].split("x"))
        found = network(row["name"])
        if found.inputs[0].shape != sizes:
            found = network(row["name"], f"image={sizes[-1]}")
        assert found.inputs[0].shape == sizes
        parameters = lower(found, Training(batch=1)).parameters  # with the heads that run in training only
        flops = lower(found, Training(batch=1, training=False)).forward_flops
        assert (parameters, flops) == (
            int(row["parameters"]), int(row["forward_flops"]),
        ), row["name"]  # fmt: skip


def test_the_archive_is_small_and_one_network_is_read_and_lowered_quickly() -> None:
    folder = Path(__file__).parent.parent.parent / "profiles" / "networks" / "converted"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 10 * 2**20
    network("timm:resnet50")
    began = time.process_time()
    for name in ("timm:hrnet_w18", "timm:resnet152d", "torchvision:swin_t"):
        lower(network(name), Training(batch=8))
    assert time.process_time() - began < 3 * 0.3  # a seventh of it here


def test_every_name_of_the_index_that_was_converted_is_in_the_archive() -> None:
    made = {row["name"] for row in converted_index() if row["parameters"]}
    assert made == set(converted_names())
    exact = [row for row in converted_index() if row["parameters_equal"] == row["flops_equal"] == "True"]
    assert len(exact) > 0.99 * len(made)


def test_the_image_size_is_a_parameter_where_the_network_allows_it() -> None:
    small, large = (lower(network("timm:resnet50", f"image={s}"), Training(batch=1)) for s in (224, 448))
    assert large.parameters == small.parameters == 25_557_032
    convolutions = [
        sum(layer.forward_flops for layer in w.layers if layer.kind == "Conv2d") for w in (small, large)
    ]
    assert convolutions[1] == 4 * convolutions[0]


def test_names_are_found_with_and_without_their_package_and_as_they_were_once() -> None:
    assert find_converted("resnet50") == "torchvision:resnet50"
    assert find_converted("timm:resnet50") == "timm:resnet50"
    assert find_converted("swsl_resnet50") == "timm:resnet50"
    assert find_converted("no_such_network") is None
    with pytest.raises(InputError, match="did you mean 'torchvision:vgg16'"):
        converted_text("torchvision:vgg166")
