from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from estimator.catalog.networks import parse_network
from estimator.catalog.text_files import SourceText
from estimator.convert.huggingface import families, huggingface_network
from estimator.convert.keras_json import keras_network
from estimator.convert.sizes import formula
from estimator.convert.sources import convert_source, is_source
from estimator.convert.write import plain_network, yaml_text
from estimator.errors import InputError
from estimator.networks.language.expression import compile_expression
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.networks.graph import Network


def network_of(text: str) -> Network:
    return parse_network(SourceText(file="net.yaml", text=text))


LLAMA = {
    "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "tie_word_embeddings": False, "vocab_size": 128256,
}  # fmt: skip
GPT2 = {
    "activation_function": "gelu_new", "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
    "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "vocab_size": 50257,
}  # fmt: skip
BERT = {
    "architectures": ["BertForMaskedLM"], "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072,
    "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12,
    "type_vocab_size": 2, "vocab_size": 30522,
}  # fmt: skip
T5 = {
    "d_ff": 2048, "d_kv": 64, "d_model": 512, "feed_forward_proj": "relu", "model_type": "t5",
    "n_positions": 512,
    "num_heads": 8, "num_layers": 6, "vocab_size": 32128,
}  # fmt: skip
MIXTRAL = {
    "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
    "model_type": "mixtral", "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "num_local_experts": 8, "vocab_size": 32000,
}  # fmt: skip
QWEN2 = {
    "hidden_act": "silu", "hidden_size": 896, "intermediate_size": 4864, "max_position_embeddings": 32768,
    "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
    "tie_word_embeddings": True, "vocab_size": 151936,
}  # fmt: skip
WHISPER = {
    "activation_function": "gelu", "d_model": 768, "decoder_attention_heads": 12, "decoder_ffn_dim": 3072,
    "decoder_layers": 12, "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "encoder_layers": 12,
    "max_source_positions": 1500, "max_target_positions": 448, "model_type": "whisper", "num_mel_bins": 80,
    "vocab_size": 51865,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (LLAMA, 8_030_261_248), (GPT2, 124_439_808), (BERT, 109_514_298), (T5, 60_506_624),
        (MIXTRAL, 46_702_792_704), (QWEN2, 494_032_768), (WHISPER, 241_734_912),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_configuration_gives_the_published_number_of_parameters(
    config: dict[str, Any], parameters: int
) -> None:
    text = yaml_text(huggingface_network(json.dumps(config), "model").plain)
    network = network_of(text)
    assert lower(network, Training(batch=1)).parameters == parameters


def test_a_configuration_is_a_few_lines() -> None:
    text = yaml_text(huggingface_network(json.dumps(LLAMA), "llama3").plain)
    assert "base: llama" in text
    assert text.count("\n") < 8


def test_every_family_names_a_network_of_the_zoo() -> None:
    from estimator.catalog.networks import zoo

    assert {base for base, _ in families().values()} <= set(zoo())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("{}", "no 'model_type'"),
        ('{"model_type": "lama"}', "did you mean 'llama'"),
        (json.dumps(LLAMA | {"mlp_bias": True}), "mlp_bias"),
        (json.dumps({k: v for k, v in LLAMA.items() if k != "vocab_size"}), "vocab_size"),
    ],
)
def test_a_configuration_that_cannot_be_described_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        huggingface_network(text, "config.json")


def keras_model(*layers: tuple[str, dict[str, Any]]) -> str:
    return json.dumps(
        {
            "class_name": "Sequential",
            "config": {"layers": [{"class_name": c, "config": k} for c, k in layers]},
        }
    )


def test_the_keras_mnist_example_has_its_published_parameters() -> None:
    text = keras_model(
        ("Conv2D", {"batch_input_shape": [None, 28, 28, 1], "filters": 32, "kernel_size": [3, 3],
                    "activation": "relu", "name": "a"}),
        ("MaxPooling2D", {"pool_size": [2, 2], "name": "b"}),
        ("Conv2D", {"filters": 64, "kernel_size": [3, 3], "activation": "relu", "name": "c"}),
        ("MaxPooling2D", {"pool_size": [2, 2], "name": "d"}),
        ("Flatten", {"name": "e"}),
        ("Dropout", {"rate": 0.5, "name": "f"}),
        ("Dense", {"units": 10, "activation": "softmax", "name": "g"}),
    )  # fmt: skip
    network = network_of(yaml_text(plain_network(keras_network(text, "mnist"))))
    assert lower(network, Training(batch=1)).parameters == 34_826


def test_same_padding_of_a_strided_window_is_more_behind() -> None:
    text = keras_model(
        ("Conv2D", {"batch_input_shape": [None, 32, 32, 3], "filters": 8, "kernel_size": 3, "strides": 2,
                    "padding": "same", "name": "a"}),
    )  # fmt: skip
    work = lower(network_of(yaml_text(plain_network(keras_network(text, "net")))), Training(batch=1))
    assert work.layers[-1].output_shape == (1, 8, 16, 16)
    assert work.layers[0].kind == "Pad"


def test_a_functional_keras_model_keeps_its_wires() -> None:
    def layer(kind: str, name: str, inputs: list[str], **config: object) -> dict[str, Any]:
        calls = [[[i, 0, 0, {}] for i in inputs]] if inputs else []
        return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": calls}

    model = {
        "class_name": "Functional",
        "config": {
            "layers": [
                layer("InputLayer", "image", [], batch_input_shape=[None, 8, 8, 16]),
                layer(
                    "Conv2D", "conv", ["image"], filters=16, kernel_size=3, padding="same", activation="relu"
                ),
                layer("Add", "sum", ["conv", "image"]),
                layer("GlobalAveragePooling2D", "pool", ["sum"]),
                layer("Dense", "out", ["pool"], units=4),
            ],
            "output_layers": [["out", 0, 0]],
        },
    }
    text = yaml_text(plain_network(keras_network(json.dumps(model), "net")))
    assert "type: Residual" in text
    assert lower(network_of(text), Training(batch=1)).parameters == 16 * 16 * 9 + 16 + 16 * 4 + 4


def test_an_unknown_keras_layer_is_named() -> None:
    text = keras_model(("InputLayer", {"batch_input_shape": [None, 8]}), ("Denze", {"units": 4, "name": "x"}))
    with pytest.raises(InputError, match=r"'Denze' \(x\).*did you mean 'Dense'"):
        keras_network(text, "net")


@pytest.mark.parametrize(
    ("values", "sizes", "wanted"),
    [
        ((196, 784, 441), (224, 448, 336), "(image // 16) * (image // 16)"),
        ((197, 785, 442), (224, 448, 336), "(image // 16) * (image // 16) + 1"),
        ((7, 14, 10), (224, 448, 320), "image // 32"),
        ((7, 14, 9), (224, 448, 261), "((image + 31) // 32)"),
    ],
)
def test_sizes_are_written_as_formulas(values: tuple[int, ...], sizes: tuple[int, ...], wanted: str) -> None:
    assert formula(values, sizes, "image") == wanted


def test_no_formula_is_made_up() -> None:
    assert formula((7, 11, 64), (224, 448, 336), "image") is None


def padding_before(image: int, kernel: int, above: int) -> int:
    """Return TensorFlow's 'same' padding before a stride of 2, after sides were halved to an ``above``-th."""
    side = -(-image // above)
    return max((-(-side // 2) - 1) * 2 + kernel - side, 0) // 2


@pytest.mark.parametrize("usual", [208, 240, 260, 300, 331, 380, 456, 475, 528, 600])
@pytest.mark.parametrize("kernel", [3, 5, 7])
@pytest.mark.parametrize("above", [1, 2, 4, 8, 16])
def test_padding_that_moves_with_the_size_has_a_formula_that_holds_at_every_size(
    usual: int, kernel: int, above: int
) -> None:
    sizes = (usual, 2 * usual, usual + usual // 2, *(usual + more for more in (37, 1, 2, 5, 11, 22, 45, 91)))
    text = formula([padding_before(size, kernel, above) for size in sizes], sizes, "image")
    assert text is not None
    for image in range(65, 700):
        found = compile_expression(text).evaluate({"image": image})
        assert found == padding_before(image, kernel, above)


def test_few_sizes_make_no_formula_of_padding() -> None:
    assert formula((0, 1, 0, 0), (240, 304, 272, 336), "image") is None


def test_steps_back_are_the_negatives_of_sizes() -> None:
    assert formula((-3, -7, -4, -4), (224, 448, 288, 256), "image") == "-(image // 64)"


def test_sources_are_told_from_names_and_files() -> None:
    assert is_source("timm:resnet50")
    assert is_source("torch:net:build")
    assert not is_source("resnet50")
    assert not is_source("nets/mine.yaml")


def test_a_module_of_ones_own_is_converted_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (tmp_path / "my_net.py").write_text(
        "from torch import nn\ndef build():\n    return nn.Sequential(nn.Linear(8, 4), nn.ReLU())\n"
    )
    monkeypatch.chdir(tmp_path)
    made = convert_source("torch:my_net:build", ["8"])
    assert lower(network_of(made.text), Training(batch=1)).parameters == 36
    with pytest.raises(InputError, match="did you mean 'build'"):
        convert_source("torch:my_net:buld", ["8"])
    with pytest.raises(InputError, match="--input"):
        convert_source("torch:my_net:build")
    with pytest.raises(InputError, match="cannot read the input"):
        convert_source("torch:my_net:build", ["three"])


def test_an_unknown_source_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean 'timm'"):
        convert_source("tim:resnet50")
    with pytest.raises(InputError, match="there is no file"):
        convert_source("hf:nowhere/config.json")
