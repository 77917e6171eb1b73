"""What a description means as a graph: wiring, names, paths, repeats, blocks, containers, sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.errors import InputError
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.precision import DType

if TYPE_CHECKING:
    from estimator.networks.graph import Network


def read(text: str, **overrides: object) -> Network:
    return read_network(read_document(text, "some/dir/net.yaml"), overrides=overrides)


def wiring(network: Network) -> dict[str, list[str]]:
    """Return the paths (or inputs, or ``path.output``) that feed each node."""
    names = [*(one.name for one in network.inputs), *(node.path for node in network.nodes)]
    return {
        node.path: [f"{names[r.node]}.{r.output}" if r.output else names[r.node] for r in node.inputs]
        for node in network.nodes
    }


def test_layers_are_read_from_top_to_bottom() -> None:
    network = read("inputs: {x: [8]}\nlayers: [ReLU, {type: Linear, out_features: 4}, ReLU]")
    assert wiring(network) == {"ReLU": ["x"], "Linear": ["ReLU"], "ReLU_2": ["Linear"]}
    assert network.name == "net"
    assert [(r.node, r.output) for r in network.outputs] == [(3, 0)]


def test_from_takes_names_inputs_prev_and_further_outputs() -> None:
    network = read(
        """
inputs: {a: [5, 8], b: {shape: [5, 8], dtype: float16}}
layers:
  - {type: LSTM, hidden_size: 8, from: a, name: lstm}
  - {type: Add, from: [prev, b, lstm]}
  - {type: ReLU, from: lstm.1}
"""
    )
    assert wiring(network) == {"lstm": ["a"], "Add": ["lstm", "b", "lstm"], "ReLU": ["lstm.1"]}
    assert network.inputs[1].dtype is DType.FP16


def test_repeats_count_from_zero_and_can_be_nested() -> None:
    network = read(
        """
params: {depths: [2, 0, 1], widths: [4, 5, 6]}
inputs: {x: [8]}
layers:
  - repeat: "${len(depths)}"
    var: stage
    name: stages
    layers:
      - repeat: "${depths[stage]}"
        layers: [{type: Linear, out_features: "${widths[stage] + i}", name: fc}]
"""
    )
    assert [(n.path, n.layer.out_features) for n in network.nodes] == [  # type: ignore[attr-defined]
        ("stages.0.layers.0.fc", 4),
        ("stages.0.layers.1.fc", 5),
        ("stages.2.layers.0.fc", 6),
    ]


def test_a_repeat_that_is_true_or_false_is_a_condition() -> None:
    text = """
params: {on: true}
inputs: {x: [8]}
layers: [{type: ReLU, repeat: $on}, {type: Sigmoid, repeat: "${not on}"}]
"""
    assert [node.path for node in read(text).nodes] == ["ReLU"]
    assert [node.path for node in read(text, on=False).nodes] == ["Sigmoid"]


def test_a_condition_leaves_the_counter_of_the_repeat_around_it() -> None:
    network = read(
        """
inputs: {x: [8]}
layers:
  - repeat: 3
    layers:
      - {repeat: "${i > 0}", layers: [{type: Linear, out_features: "${i + 5}"}]}
"""
    )
    assert [node.layer.out_features for node in network.nodes] == [6, 7]  # type: ignore[attr-defined]


def test_names_in_a_repetition_are_its_own_unless_they_are_computed() -> None:
    network = read(
        """
inputs: {x: [8]}
layers:
  - repeat: 3
    layers:
      - {type: ReLU, name: inner}
      - {type: ReLU, name: "skip${i}"}
  - {type: Add, from: [skip2, skip0]}
"""
    )
    assert wiring(network)["Add"] == ["layers.2.skip2", "layers.0.skip0"]
    with pytest.raises(InputError, match="'inner' is not defined"):
        read(
            "inputs: {x: [8]}\n"
            "layers: [{repeat: 2, layers: [{type: ReLU, name: inner}]}, {type: ReLU, from: inner}]"
        )


def test_from_on_a_repeat_feeds_the_first_and_with_prev_each() -> None:
    first = read(
        "inputs: {x: [8]}\nlayers: [{type: ReLU, name: a}, Sigmoid, {type: Tanh, from: a, repeat: 2}]"
    )
    assert wiring(first)["Tanh.0"] == ["a"]
    assert wiring(first)["Tanh.1"] == ["Tanh.0"]
    each = read(
        "inputs: {x: [8]}\nlayers: [{type: ReLU, name: a}, Sigmoid, {type: Add, from: [prev, a], repeat: 2}]"
    )
    assert wiring(each)["Add.0"] == ["Sigmoid", "a"]
    assert wiring(each)["Add.1"] == ["Add.0", "a"]


def test_blocks_have_arguments_defaults_and_names_of_their_own() -> None:
    network = read(
        """
params: {base: 10}
inputs: {x: [8]}
blocks:
  mlp:
    args: {width: , hidden: "${4 * width}", act: ReLU}
    layers:
      - {type: Linear, out_features: $hidden, name: up}
      - $act
      - {type: Linear, out_features: "${width + base}", from: [prev], name: down}
layers:
  - {type: mlp, width: 2, name: first}
  - {type: mlp, width: 3, hidden: 5, act: GELU}
  - {type: Add, from: [first, first]}
"""
    )
    sizes = [getattr(node.layer, "out_features", None) for node in network.nodes]
    assert sizes == [8, None, 12, 5, None, 13, None]
    assert list(wiring(network)) == [
        "first.up", "first.ReLU", "first.down", "mlp.up", "mlp.GELU", "mlp.down", "Add",
    ]  # fmt: skip
    assert wiring(network)["Add"] == ["first.down", "first.down"]
    assert network.nodes[4].layer.type_name == "GELU"


def test_a_block_with_several_inputs_hands_them_to_its_first_layer_and_knows_them_as_in() -> None:
    network = read(
        """
inputs: {x: [8]}
blocks:
  join: {layers: [Add, ReLU, {type: Mul, from: [prev, in.1]}]}
layers:
  - {type: ReLU, name: a}
  - {type: Sigmoid, name: b}
  - {type: join, from: [a, b]}
"""
    )
    assert wiring(network)["join.Add"] == ["a", "b"]
    assert wiring(network)["join.Mul"] == ["join.ReLU", "b"]


def test_a_block_does_not_see_the_counters_of_its_user() -> None:
    with pytest.raises(InputError, match="unknown name 'i'"):
        read(
            "inputs: {x: [8]}\n"
            "blocks: {b: {layers: [{type: Linear, out_features: $i}]}}\n"
            "layers: [{type: b, repeat: 2}]"
        )


def test_residual_joins_layers_and_shortcut() -> None:
    network = read(
        """
inputs: {x: [3, 8, 8]}
layers:
  - {type: Residual, layers: [ReLU, {type: Conv2d, out_channels: 3, kernel_size: 1}]}
  - type: Residual
    name: down
    op: mul
    layers: [{type: Conv2d, out_channels: 6, kernel_size: 1}]
    shortcut: {type: Conv2d, out_channels: 6, kernel_size: 1, name: project}
  - {type: Residual, layers: [ReLU], op: concat}
"""
    )
    assert wiring(network) == {
        "Residual.ReLU": ["x"], "Residual.Conv2d": ["Residual.ReLU"],
        "Residual.add": ["x", "Residual.Conv2d"],
        "down.Conv2d": ["Residual.add"], "down.shortcut.project": ["Residual.add"],
        "down.mul": ["down.Conv2d", "down.shortcut.project"],
        "Residual_2.ReLU": ["down.mul"], "Residual_2.concat": ["Residual_2.ReLU", "down.mul"],
    }  # fmt: skip
    assert lower(network, Training(batch=2)).layers[-1].output_shape == (2, 12, 8, 8)


def test_parallel_merges_branches() -> None:
    network = read(
        """
inputs: {x: [4, 8, 8]}
layers:
  - type: Parallel
    branches: [[ReLU, {type: Conv2d, out_channels: 2, kernel_size: 1}], Sigmoid, []]
  - {type: Parallel, branches: [ReLU, Tanh], merge: none}
  - Add
"""
    )
    assert wiring(network)["Parallel.concat"] == ["Parallel.0.Conv2d", "Parallel.1.Sigmoid", "x"]
    assert wiring(network)["Add"] == ["Parallel_2.0.ReLU", "Parallel_2.1.Tanh"]
    assert lower(network, Training(batch=2)).layers[2].output_shape[1] == 4


def test_parallel_repeats_one_branch_over_a_list() -> None:
    network = read(
        """
params: {rows: [10, 20, 30]}
inputs: {a0: {shape: [1], dtype: int64}, a1: {shape: [1], dtype: int64}, a2: {shape: [1], dtype: int64}}
layers:
  - type: Parallel
    repeat: "${len(rows)}"
    var: t
    layers: [{type: Embedding, num_embeddings: "${rows[t]}", embedding_dim: 4, from: "a${t}"}]
    merge: Concat
    dim: 1
"""
    )
    assert [getattr(node.layer, "num_embeddings", None) for node in network.nodes] == [10, 20, 30, None]
    assert wiring(network)["Parallel.1.Embedding"] == ["a1"]


def test_reuse_shares_weights_and_counts_work_each_time() -> None:
    network = read(
        """
inputs: {x: [8]}
layers:
  - {type: Linear, out_features: 8, name: fc}
  - {reuse: fc, repeat: 2}
  - {type: Sequential, layers: [{type: Linear, out_features: 8}, ReLU], name: block}
  - {reuse: block, from: fc, name: again}
"""
    )
    assert wiring(network)["fc_2.1"] == ["fc_2.0"]
    assert wiring(network)["again.Linear"] == ["fc"]
    assert wiring(network)["again.ReLU"] == ["again.Linear"]
    assert [node.shares for node in network.nodes] == [None, 0, 0, None, None, 3, 4]
    work = lower(network, Training(batch=1))
    assert work.parameters == 2 * (8 * 8 + 8)
    assert work.forward_flops == 5 * 2 * 8 * 8


def test_tie_makes_one_weight_of_two() -> None:
    text = """
inputs: {tokens: {shape: [4], dtype: int64}}
layers:
  - {type: Embedding, num_embeddings: 100, embedding_dim: 8, name: wte}
  - {type: Linear, out_features: 100, bias: false, tie: wte}
"""
    network = read(text)
    assert network.nodes[1].tied == 0
    assert lower(network, Training(batch=1)).parameters == 800


def test_trainable_and_training_only_hold_for_all_inside() -> None:
    network = read(
        """
inputs: {x: [8]}
layers:
  - type: Sequential
    trainable: false
    layers: [{type: Linear, out_features: 8}, {type: Residual, layers: [ReLU]}]
  - {type: ReLU, name: out}
  - {type: Linear, out_features: 2, training_only: true}
outputs: out
loss: CrossEntropyLoss
"""
    )
    assert [node.trainable for node in network.nodes] == [False, False, False, True, True, True]
    assert [node.training_only for node in network.nodes] == [False, False, False, False, True, True]
    assert [r.node for r in network.outputs] == [4]
    assert network.nodes[-1].path == "loss"
    assert wiring(network)["loss"] == ["out"]


def test_a_layer_that_makes_its_value_takes_no_input() -> None:
    network = read(
        "inputs: {x: [4, 8]}\nlayers: [{type: Parameter, shape: [4, 8], name: p}, {type: Add, from: [x, p]}]"
    )
    assert wiring(network) == {"p": [], "Add": ["x", "p"]}


def test_the_type_of_a_layer_can_be_computed() -> None:
    text = """
params: {act: ReLU}
inputs: {x: [8]}
layers: [{type: $act}, {type: "${'GELU' if act == 'ReLU' else act}"}]
"""
    assert [node.layer.type_name for node in read(text).nodes] == ["ReLU", "GELU"]
    with pytest.raises(InputError, match="did you mean 'SiLU'"):
        read(text, act="Silu")


def test_overrides_replace_parameters_of_the_same_type() -> None:
    text = """
params: {d: 8, ff: "${4 * d}", p: 0.5, act: ReLU, on: true, widths: [1, 2]}
inputs: {x: [$d]}
layers: [{type: Linear, out_features: $ff}]
"""
    assert read(text, d=16).parameters == {
        "d": 16, "ff": 64, "p": 0.5, "act": "ReLU", "on": True, "widths": (1, 2),
    }  # fmt: skip
    assert read(text, d=16, ff=7).nodes[0].layer.out_features == 7  # type: ignore[attr-defined]
    assert read(text, d=1e2, p=1, widths=[3]).parameters["d"] == 100


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"dd": 3}, "has no parameter 'dd'; did you mean 'd'?"),
        ({"d": "x"}, "parameter 'd' cannot be 'x'; it is 8 in the file"),
        ({"d": 1.5}, "must be a whole number"),
        ({"d": True}, "cannot be true"),
        ({"d": None}, "cannot be nothing"),
    ],
)
def test_overrides_that_do_not_fit_are_refused(overrides: dict[str, object], says: str) -> None:
    with pytest.raises(InputError) as caught:
        read("params: {d: 8}\ninputs: {x: [$d]}\nlayers: [ReLU]", **overrides)
    assert says in str(caught.value)


def test_every_node_knows_where_it_and_its_arguments_stand() -> None:
    node = read("inputs: {x: [8]}\nlayers:\n  - {type: Linear, out_features: 4}\n").nodes[0]
    assert str(node.at) == "some/dir/net.yaml:3:5"
    assert str(node.places["out_features"]) == "some/dir/net.yaml:3:34"
