"""What a step holds at its peak: activations saved by then, and the gradients in flight."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.networks import load_network
from estimator.catalog.yaml_reader import read_document
from estimator.networks.footprint import block_of
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing, Training
from estimator.precision import POLICIES
from estimator.software import Mode, Software

if TYPE_CHECKING:
    from estimator.workload.workload import Footprint

BATCH = 8


def held(text: str, **recipe: object) -> Footprint:
    training = replace(Training(batch=BATCH, optimizer=OPTIMIZERS.get("sgd")), **recipe)  # type: ignore[arg-type]
    return lower(read_network(read_document(text, "net.yaml")), training).footprint


def test_the_peak_is_where_saved_activations_and_gradients_are_most() -> None:
    found = held("""
inputs: {x: {shape: [100]}}
layers: [{type: Linear, out_features: 1000}, ReLU, {type: Linear, out_features: 10}]
""")
    x, hidden, y = (4 * BATCH * size for size in (100, 1000, 10))
    assert found.activations_bytes == hidden  # ReLU's output; the input is there anyway
    # Backward of ReLU: gradients of its output and its input. The loop holds the network's output.
    assert found.other_bytes == x + y + 2 * hidden


def test_large_early_outputs_do_not_count_where_all_is_saved() -> None:
    found = held("""
inputs: {x: {shape: [3, 64, 64]}}
layers:
  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}
  - ReLU
  - {type: MaxPool2d, kernel_size: 8}
  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}
  - ReLU
  - {type: AdaptiveAvgPool2d, output_size: 1}
""")
    large, small, image = (4 * BATCH * size for size in (64 * 64 * 64, 64 * 8 * 8, 3 * 64 * 64))
    assert found.activations_bytes == large + 3 * small + small  # two ReLUs, int64 indices, the pool's output
    # In the backward of the first ReLU only its output is still saved, with two gradients as large.
    peak = large + 2 * large
    results = 4 * BATCH * 64
    assert found.other_bytes == image + results + peak - found.activations_bytes


def test_a_residual_stream_has_one_gradient() -> None:
    text = """
inputs: {x: {shape: [50]}}
layers:
  - {type: Linear, out_features: 50}
  - {repeat: COUNT, layers: [{type: Residual, layers: [{type: Linear, out_features: 50, bias: false}]}]}
"""
    one, ten = (held(text.replace("COUNT", str(count))) for count in (1, 10))
    value = 4 * BATCH * 50
    assert ten.activations_bytes - one.activations_bytes == 9 * value
    assert ten.other_bytes == one.other_bytes


def test_a_view_that_repeats_elements_keeps_what_it_looks_at() -> None:
    found = held("""
inputs: {x: {shape: [16, 32, 32]}}
layers:
  - {type: Conv2d, out_channels: 16, kernel_size: 1, name: y}
  - {type: AdaptiveAvgPool2d, output_size: 1}
  - Sigmoid
  - {type: Expand, shape: [16, 32, 32], name: scale}
  - {type: Mul, from: [y, scale]}
""")
    y, scale = (4 * BATCH * size for size in (16 * 32 * 32, 16))
    assert found.activations_bytes == y + scale


def test_checkpointing_under_autocast_holds_the_half_precision_weights_to_the_end_of_the_forward() -> None:
    text = """
inputs: {x: {shape: [256]}}
layers:
  - repeat: 8
    layers: [{type: Linear, out_features: 256, bias: false}]
"""
    single, mixed = (
        held(text, checkpointing=Checkpointing.BLOCKS, precision=POLICIES.get(name))
        for name in ("fp32", "amp")
    )
    weights, value = 8 * 256 * 256, BATCH * 256
    assert single.activations_bytes + single.other_bytes < 4 * weights
    assert mixed.activations_bytes + mixed.other_bytes == pytest.approx(2 * weights + 8 * 2 * value, rel=0.1)


def test_a_fused_loss_keeps_the_logits_only() -> None:
    text = """
inputs: {x: {shape: [64]}}
layers: [{type: Linear, out_features: 5000, name: logits}]
loss: CrossEntropyLoss
"""
    logits = 4 * BATCH * 5000
    eager, fused = (held(text, software=Software(mode=mode)) for mode in (Mode.EAGER, Mode.FUSED))
    # Eager: probabilities saved, logits held, two gradients; fused: the logits are both.
    assert eager.activations_bytes + eager.other_bytes == pytest.approx(4 * logits, rel=0.02)
    assert fused.activations_bytes + fused.other_bytes == pytest.approx(3 * logits, rel=0.02)


def test_blocks_are_told_by_the_outermost_number() -> None:
    assert block_of("layers.3.Residual.1.Linear") == "layers.3"
    assert block_of("wte") is None


def test_a_weight_that_is_computed_is_saved_and_a_parameter_is_not() -> None:
    text = """
inputs: {{x: [3, 8, 8]}}
layers:
  - {{type: Conv2d, out_channels: 4, kernel_size: 1, name: before}}
  - {{type: Parameter, shape: [16, 4, 3, 3]}}
  - {standardise}
  - {{type: FunctionalConv2d, from: [before, prev]}}
"""

    def saved(standardise: str) -> int:
        network = read_network(read_document(text.format(standardise=standardise), "net.yaml"))
        return lower(network, Training(batch=1)).layers[-1].saved_bytes

    inputs, weights = 4 * 8 * 8 * 4, 16 * 4 * 3 * 3 * 4
    assert saved("Identity") == inputs
    assert saved("{type: MulScalar, value: 2.0}") == inputs + weights


def test_the_standardised_weights_of_a_normaliser_free_network_are_saved() -> None:
    """PyTorch keeps 173,869,312 bytes for the backward of timm's eca_nfnet_l0 at batch 1."""
    layers = lower(load_network("timm:eca_nfnet_l0"), Training(batch=1)).layers
    assert sum(layer.saved_bytes for layer in layers) == pytest.approx(173_869_312, rel=0.002)
