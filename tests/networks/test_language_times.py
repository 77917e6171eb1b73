"""``times``: layers that run step by step with the same weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.errors import InputError
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.workload.workload import Workload

STEP = """
inputs: {x: [8]}
blocks:
  step:
    layers: [{type: LSTMCell, hidden_size: 8}, {type: Linear, out_features: 8}]
layers:
  - {type: step, name: first}
"""


def work(text: str, batch: int = 4) -> Workload:
    return lower(read_network(read_document(text, "net.yaml")), Training(batch=batch))


def test_layers_run_so_often_with_one_set_of_weights() -> None:
    once, often = work(STEP), work(STEP + "  - {reuse: first, times: 9}\n")
    assert often.parameters == once.parameters
    assert often.forward_flops == 10 * once.forward_flops
    assert len(often.layers[-1].kernels) > 8 * len(once.layers[-1].kernels)


def test_times_equals_writing_it_again() -> None:
    again = work(STEP + "  - {reuse: first, repeat: 9}\n")
    often = work(STEP + "  - {reuse: first, times: 9}\n")
    assert often.forward_flops == again.forward_flops
    assert often.backward_flops == again.backward_flops
    # What enters a step is kept once, as it is one value in the text.
    assert often.footprint.activations_bytes == pytest.approx(again.footprint.activations_bytes, rel=0.15)


def test_gradients_of_the_steps_are_added_up() -> None:
    often = work(STEP + "  - {reuse: first, times: 9}\n")
    adds = [k for layer in often.layers for k in layer.kernels if k.name == "add_gradient"]
    assert {kernel.phase for kernel in adds} == {Phase.WGRAD}
    assert len(adds) == 8 * (4 + 2)  # two weights and two biases of the cell, one of each of the linear layer
    assert max(kernel.bytes_written for kernel in adds) == prod((32, 8)) * 4


def test_times_holds_for_what_is_inside_and_multiplies() -> None:
    text = (
        "inputs: {x: [8]}\nlayers: [{times: 3, layers: [{type: Linear, out_features: 8, times: 2}, ReLU]}]\n"
    )
    network = read_network(read_document(text, "net.yaml"))
    assert [node.times for node in network.nodes] == [6, 3]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("0", "times must be a whole number from 1 to 10,000, got 0"),
        ("true", "times must be a whole number"),
        ("1.5", "times must be a whole number"),
        ("10001", "times must be a whole number"),
        ("10000, layers: [{times: 2, layers: [ReLU]}]", "times within times: more than 10,000"),
    ],
)
def test_what_cannot_be_a_number_of_times_is_refused(value: str, says: str) -> None:
    layers = "" if "layers" in value else ", layers: [ReLU]"
    with pytest.raises(InputError, match=says):
        read_network(read_document(f"inputs: {{x: [8]}}\nlayers: [{{times: {value}{layers}}}]", "net.yaml"))


def test_calls_are_bounded() -> None:
    text = "inputs: {x: [8]}\nlayers: [{repeat: 30, layers: [{type: ReLU, times: 10000}]}]"
    with pytest.raises(InputError, match="more than 200,000 calls of layers"):
        read_network(read_document(text, "net.yaml"))
