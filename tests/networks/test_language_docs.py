"""The examples of the page on network files are networks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

PAGE = (Path(__file__).parent.parent.parent / "docs" / "network-files.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_is_a_network(number: int) -> None:
    network = read_network(read_document(EXAMPLES[number], "example.yaml"))
    assert lower(network, Training(batch=2)).forward_flops > 0


def test_the_paths_of_the_page_are_paths() -> None:
    paths = {
        node.path for text in EXAMPLES for node in read_network(read_document(text, "example.yaml")).nodes
    }
    named = re.findall(r"`((?:layers|blocks)\.[\w.]+)`", PAGE)
    assert named
    assert set(named) <= paths
