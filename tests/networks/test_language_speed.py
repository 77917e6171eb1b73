"""A network of 20,000 layers is read, expanded and lowered in three seconds of processor time."""

from __future__ import annotations

import time

from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

LAYERS = 10_000  # times two
LIMIT_S = 3.0


def seconds_for(text: str) -> float:
    started = time.process_time()
    network = read_network(read_document(text, "net.yaml"))
    lower(network, Training(batch=1))
    assert len(network.nodes) == 2 * LAYERS
    return time.process_time() - started


def test_written_out() -> None:
    layer = "  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}\n  - ReLU\n"
    assert seconds_for("inputs: {x: [3, 32, 32]}\nlayers:\n" + layer * LAYERS) < LIMIT_S


def test_repeated_with_expressions_names_and_wiring() -> None:
    text = f"""
params: {{widths: [8, 16, 24, 32]}}
inputs: {{x: [8, 32]}}
layers:
  - repeat: {LAYERS // 2}
    layers:
      - {{type: Linear, out_features: "${{widths[i % 4]}}", name: "fc${{i}}"}}
      - {{type: ReLU, name: act}}
      - {{type: Residual, layers: [ReLU]}}
"""
    assert seconds_for(text) < LIMIT_S


def test_values_that_share_a_gradient_and_live_to_the_end() -> None:
    names = ", ".join(f"v{i}" for i in range(LAYERS))
    text = f"""
inputs: {{x: [1]}}
layers:
  - {{type: Linear, out_features: 1}}
  - {{repeat: {LAYERS}, type: AddScalar, value: 1.0, name: "v${{i}}"}}
  - {{type: Concat, from: [{names}], dim: 1}}
"""
    started = time.process_time()
    lower(read_network(read_document(text, "net.yaml")), Training(batch=1))
    assert time.process_time() - started < LIMIT_S
