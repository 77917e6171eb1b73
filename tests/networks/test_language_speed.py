"""Reading, expanding and lowering take time in proportion to the layers: nothing grows with their square.

What 20,000 layers take in seconds is in ``tests/bench/zoo.py``: it depends on the machine.
"""

from __future__ import annotations

import gc
import time

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from tests.bench.long_networks import LONG_NETWORKS

FEW, TIMES = 1500, 4


def seconds_for(kind: str, layers: int) -> float:
    text = LONG_NETWORKS[kind](layers)
    best = float("inf")
    gc.disable()  # its passes grow with all that other tests have left
    try:
        for _ in range(2):
            started = time.process_time()
            network = read_network(read_document(text, "net.yaml"))
            lower(network, Training(batch=1))
            best = min(best, time.process_time() - started)
            assert len(network.nodes) >= layers
    finally:
        gc.enable()
    return best


@pytest.mark.parametrize("kind", LONG_NETWORKS)
def test_four_times_the_layers_take_four_times_as_long(kind: str) -> None:
    assert seconds_for(kind, TIMES * FEW) < 2 * TIMES * seconds_for(kind, FEW)
