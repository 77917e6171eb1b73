"""A network of 20,000 layers is read, expanded and lowered in three seconds of processor time."""

from __future__ import annotations

import time

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from tests.bench.long_networks import LONG_NETWORKS

LAYERS = 20_000
LIMIT_S = 3.0
BESIDE = {"written out": 0, "repeated": 0, "alive to the end": 2}  # a first and a last layer


@pytest.mark.parametrize("kind", LONG_NETWORKS)
def test_twenty_thousand_layers(kind: str) -> None:
    text = LONG_NETWORKS[kind](LAYERS)
    started = time.process_time()
    network = read_network(read_document(text, "net.yaml"))
    lower(network, Training(batch=1))
    took_s = time.process_time() - started
    assert len(network.nodes) == LAYERS + BESIDE[kind]
    assert took_s < LIMIT_S
