"""Keras models as JSON: layers with the parameters Keras counts, unknown ones Custom, wrong ones refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from estimator.catalog.networks import load_network, parse_network
from estimator.catalog.text_files import SourceText
from estimator.convert.keras_json import keras_network
from estimator.convert.write import plain_network, yaml_text
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from estimator.workload.workload import Workload

Layer = tuple[str, dict[str, Any]]


def sequential(*layers: Layer) -> str:
    saved = [{"class_name": kind, "config": {"name": f"l{n}", **own}} for n, (kind, own) in enumerate(layers)]
    return json.dumps({"class_name": "Sequential", "config": {"layers": saved}})


def counted(text: str) -> Workload:
    made = yaml_text(plain_network(keras_network(text, "net", "net.json")))
    return lower(parse_network(SourceText(file="net.yaml", text=made)), Training(batch=1))


def of_shape(*shape: int, dtype: str = "float32") -> Layer:
    return "InputLayer", {"batch_input_shape": [None, *shape], "dtype": dtype}


BOTH_WAYS: Layer = (
    "Bidirectional",
    {"layer": {"class_name": "LSTM", "config": {"units": 64, "return_sequences": False}}},
)
TOKENS: Layer = of_shape(100, dtype="int32")
BILSTM = (TOKENS, ("Embedding", {"input_dim": 20000, "output_dim": 128}), BOTH_WAYS, ("Dense", {"units": 1}))
IMDB_CNN: tuple[Layer, ...] = (
    of_shape(400, dtype="int32"), ("Embedding", {"input_dim": 5000, "output_dim": 50}),
    ("Dropout", {"rate": 0.2}),
    ("Conv1D", {"filters": 250, "kernel_size": [3], "padding": "valid", "strides": [1],
                "activation": "relu"}),
    ("GlobalMaxPooling1D", {}), ("Dense", {"units": 250}), ("Dropout", {"rate": 0.2}),
    ("Activation", {"activation": "relu"}), ("Dense", {"units": 1}),
)  # fmt: skip


@pytest.mark.parametrize(("layers", "name"), [(BILSTM, "keras_imdb_bilstm"), (IMDB_CNN, "keras_imdb_cnn")])
def test_a_network_of_the_zoo_is_made_from_its_json(layers: tuple[Layer, ...], name: str) -> None:
    work, zoo = counted(sequential(*layers)), lower(load_network(name), Training(batch=1))
    assert work.parameters == zoo.parameters
    assert work.forward_flops == zoo.forward_flops


# Numbers of trainable parameters as Keras 3 counts them.
@pytest.mark.parametrize(
    ("layers", "parameters", "shape"),
    [
        ((of_shape(8, 16, 16, 2), ("Conv3D", {"filters": 4, "kernel_size": 3}),
          ("MaxPooling3D", {"pool_size": 2}), ("BatchNormalization", {}), ("GlobalAveragePooling3D", {})),
         228, (1, 4)),
        ((of_shape(64, 4), ("ZeroPadding1D", {"padding": 2}),
          ("Conv1D", {"filters": 8, "kernel_size": 5, "padding": "causal", "dilation_rate": 2}),
          ("MaxPooling1D", {"pool_size": 2}), ("BatchNormalization", {}), ("UpSampling1D", {"size": 3}),
          ("SeparableConv1D", {"filters": 6, "kernel_size": 3})), 168 + 16 + 78, (1, 100, 6)),
        ((of_shape(32, 32, 3),
          ("Conv2DTranspose", {"filters": 8, "kernel_size": 3, "strides": 2, "padding": "same"}),
          ("GroupNormalization", {"groups": 4}), ("SeparableConv2D", {"filters": 16, "kernel_size": 3}),
          ("Conv2DTranspose", {"filters": 8, "kernel_size": 4, "strides": 2, "padding": "same"})),
         224 + 16 + 216 + 2056, (1, 8, 124, 124)),
        ((of_shape(32, 64),
          ("TimeDistributed", {"layer": {"class_name": "Dense", "config": {"units": 8}}})),
         520, (1, 32, 8)),
    ],
    ids=["3d", "1d", "transposed", "each step"],
)  # fmt: skip
def test_layers_have_the_parameters_and_shapes_of_keras(
    layers: tuple[Layer, ...], parameters: int, shape: tuple[int, ...]
) -> None:
    work = counted(sequential(*layers))
    assert work.parameters == parameters
    assert work.layers[-1].output_shape == shape


def functional(*layers: dict[str, Any], output: str) -> str:
    config = {"layers": list(layers), "output_layers": [[output, 0, 0]]}
    return json.dumps({"class_name": "Functional", "config": config})


def node(kind: str, name: str, inbound: list[Any], **config: object) -> dict[str, Any]:
    return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": inbound}


IN = node("InputLayer", "in", [], batch_shape=[None, 32, 64])


def test_attention_takes_its_value_by_name_and_an_input_may_be_called_in() -> None:
    call = [[["in", 0, 0, {"value": ["in", 0, 0]}]]]
    work = counted(
        functional(IN, node("MultiHeadAttention", "att", call, num_heads=4, key_dim=16), output="att")
    )
    assert work.parameters == 4 * (64 * 64 + 64)


def test_a_circle_is_refused() -> None:
    text = functional(IN, node("Add", "sum", [[["in", 0, 0, {}], ["sum", 0, 0, {}]]]), output="sum")
    with pytest.raises(InputError, match=r"net\.json: layer 'sum': it is fed by 'sum'"):
        counted(text)


def test_an_unknown_layer_is_custom_where_the_file_says_its_shape() -> None:
    def kept(name: str, *shape: int) -> dict[str, Any]:
        history = {"keras_history": [name, 0, 0], "shape": [None, *shape], "dtype": "float32"}
        return {"args": [{"class_name": "__keras_tensor__", "config": history}], "kwargs": {}}

    text = functional(
        IN, node("Fancy", "odd", [kept("in", 32, 64)]), node("Dense", "out", [kept("odd", 5)], units=3),
        output="out",
    )  # fmt: skip
    converted = keras_network(text, "net", "net.json")
    (gap,) = converted.gaps
    assert (gap.path, gap.flops, gap.unknown) == ("odd", 5, "FLOPs and parameters")
    work = counted(text)
    assert work.custom_layers
    assert work.layers[0].output_shape == (1, 5)
    assert work.parameters == 18


def test_all_unknown_layers_are_named_where_the_file_says_no_shape() -> None:
    with pytest.raises(InputError) as error:
        counted(sequential(of_shape(8), ("Fancy", {}), ("Denze", {"units": 4}), ("Dense", {"units": 2})))
    assert "'Fancy' (l1)" in str(error.value)
    assert "'Denze' (l2)" in str(error.value)
    assert "did you mean 'Dense'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"class_name": "Sequential"}', "config"),
        (sequential(), "no layers in it"),
        ("[" * 100_000, "nested too deeply"),
        (sequential(of_shape(4), ("Dense", {"units": -3})), "layer 'l1': units: -3 is no positive"),
        (sequential(of_shape(4), ("Dense", {"units": "x"})), "layer 'l1': units: \"x\" is no positive"),
        (sequential(of_shape(4), ("Dense", {})), "layer 'l1': no 'units' in it"),
        (sequential(of_shape(4, 4, 3), ("Conv2D", {"filters": 8, "kernel_size": 7})), "nothing is left"),
        (sequential(("Dense", {"units": 3})), "no input shape"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_layer(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        counted(text)
    assert error.value.message.startswith("net.json: ")
    assert said in error.value.message
