"""Configurations of transformers against the parameters its models have, and against wrong values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from estimator.catalog.networks import parse_network
from estimator.catalog.text_files import SourceText
from estimator.convert.huggingface import families, huggingface_network
from estimator.convert.write import yaml_text
from estimator.errors import InputError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

# Values and numbers of parameters as transformers 4.57 has them (its models built on the meta device).
MODELS: list[tuple[dict[str, Any], int]] = [
    ({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880},
     559_214_592),
    ({"model_type": "albert", "architectures": ["AlbertForMaskedLM"], "embedding_size": 128,
      "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072,
      "vocab_size": 30000, "max_position_embeddings": 256, "type_vocab_size": 2, "hidden_act": "gelu_new",
      "hidden_dropout_prob": 0, "num_hidden_groups": 1, "inner_group_num": 1}, 11_188_912),
    ({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8,
      "intermediate_size": 2048, "vocab_size": 50432, "max_position_embeddings": 2048, "rotary_pct": 0.25,
      "hidden_act": "gelu", "use_parallel_residual": True}, 61_100_544),
    ({"model_type": "bart", "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12,
      "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
      "decoder_ffn_dim": 4096, "vocab_size": 50265, "max_position_embeddings": 512,
      "activation_function": "gelu"}, 405_242_880),
    ({"model_type": "electra", "architectures": ["ElectraForPreTraining"], "embedding_size": 128,
      "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 12, "intermediate_size": 1024,
      "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}, 13_549_057),
    ({"model_type": "phi", "hidden_size": 2048, "num_hidden_layers": 3, "num_attention_heads": 32,
      "intermediate_size": 8192, "vocab_size": 51200, "max_position_embeddings": 2048,
      "partial_rotary_factor": 0.5, "hidden_act": "gelu_new"}, 360_833_024),
    ({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 3, "num_attention_heads": 32,
      "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064,
      "max_position_embeddings": 4096, "sliding_window": None}, 536_761_344),
    ({"model_type": "gptj", "n_embd": 4096, "n_layer": 3, "n_head": 16, "n_positions": 2048, "rotary_dim": 64,
      "n_inner": None, "vocab_size": 50400, "activation_function": "gelu_new", "tie_word_embeddings": False},
     1_017_001_184),
    ({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 4, "first_k_dense_replace": 1,
      "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "vocab_size": 1000,
      "num_attention_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "max_position_embeddings": 4096}, 2_348_448_768),
    ({"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 3, "num_attention_heads": 32,
      "num_key_value_heads": 4, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768,
      "intermediate_size": 6144, "vocab_size": 151936, "max_position_embeddings": 32768,
      "decoder_sparse_step": 1, "mlp_only_layers": []}, 763_951_488),
    ({"model_type": "mt5", "d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_heads": 6,
      "vocab_size": 250112, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}, 300_176_768),
    ({"model_type": "swin", "embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24],
      "window_size": 7, "image_size": 224, "patch_size": 4, "mlp_ratio": 4.0, "hidden_act": "gelu",
      "num_labels": 1000}, 28_288_354),
    ({"model_type": "convnext", "hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "patch_size": 4,
      "image_size": 224, "hidden_act": "gelu", "num_labels": 1000}, 28_589_128),
    ({"model_type": "segformer", "hidden_sizes": [32, 64, 160, 256], "depths": [2, 2, 2, 2],
      "num_attention_heads": [1, 2, 5, 8], "sr_ratios": [8, 4, 2, 1], "decoder_hidden_size": 256,
      "num_labels": 150}, 3_752_694),
    ({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
      "intermediate_size": 3072, "image_size": [224, 224], "patch_size": [16, 16], "num_labels": 1000},
     86_567_656),
    ({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
      "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 512}, 124_059_648),
]  # fmt: skip


def converted(config: dict[str, Any]) -> str:
    return yaml_text(huggingface_network(json.dumps(config), "net", "config.json").plain)


@pytest.mark.parametrize(("config", "parameters"), MODELS, ids=[c["model_type"] for c, _ in MODELS])
def test_a_configuration_has_the_parameters_of_its_model(config: dict[str, Any], parameters: int) -> None:
    network = parse_network(SourceText(file="net.yaml", text=converted(config)))
    assert lower(network, Training(batch=1)).parameters == parameters


LLAMA = {
    "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip
GPT2 = {
    "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
    "vocab_size": 50257,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads: 0 is no positive whole number"),
        ({"hidden_size": "big"}, 'hidden_size: "big" is no positive whole number'),
        ({"max_position_embeddings": "8192"}, 'max_position_embeddings: "8192" is no positive'),
        (
            {"hidden_size": 100, "num_attention_heads": 7, "num_key_value_heads": 7},
            "hidden_size: 100 cannot be split among 7 heads",
        ),
        ({"num_key_value_heads": 5}, "num_key_value_heads: 5 do not divide"),
        ({"model_type": "mistral", "sliding_window": "wide"}, "sliding_window"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
    ],
)
def test_a_wrong_value_of_llama_is_refused_with_file_and_key(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        converted(LLAMA | change)
    assert error.value.message.startswith("config.json: ")
    assert said in error.value.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_layer": True}, "n_layer: true is no positive whole number"),
        ({"n_layer": 0}, "n_layer: 0 is no positive whole number"),
        ({"n_layer": -1}, "n_layer: -1"),
        ({"n_layer": 10**9}, "n_layer: 1000000000 is more than 10000"),
        ({"n_layer": float("nan")}, "n_layer: NaN"),
        ({"n_embd": 768.5}, "n_embd: 768.5"),
        ({"n_head": 5}, "n_embd: 768 cannot be split among 5 heads"),
        ({"resid_pdrop": 1.5}, "resid_pdrop"),
        ({"activation_function": "sine"}, "unknown activation 'sine'"),
    ],
)
def test_a_wrong_value_of_gpt2_is_refused_with_file_and_key(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        converted(GPT2 | change)
    assert error.value.message.startswith("config.json: ")
    assert said in error.value.message


def test_endless_nesting_is_an_error_of_the_file() -> None:
    with pytest.raises(InputError, match=r"deep\.json: nested too deeply"):
        huggingface_network("[" * 100_000, "deep", "deep.json")


def test_what_is_left_out_is_said() -> None:
    notes = huggingface_network(json.dumps(LLAMA | {"quantization_config": {"bits": 4}}), "net").notes
    assert "--set seq=8192 takes all" in notes[0]
    assert "quantization_config" in notes[1]
    assert not huggingface_network(json.dumps(LLAMA | {"max_position_embeddings": 2048}), "net").notes


def test_an_image_that_is_not_square_is_refused() -> None:
    config = next(c for c, _ in MODELS if c["model_type"] == "vit")
    with pytest.raises(InputError, match="image_size: 224 by 384 is not square"):
        converted(config | {"image_size": [224, 384]})


def test_another_type_of_model_is_not_called_a_typing_mistake() -> None:
    with pytest.raises(InputError) as error:
        converted({"model_type": "gemma2"})
    assert "did you mean" not in str(error.value)
    assert all(name in str(error.value) for name in ("known are albert", "gemma", "gpt_oss"))
    with pytest.raises(InputError, match="did you mean 'llama'"):
        converted({"model_type": "lama"})


def test_the_families_of_the_zoo_are_known() -> None:
    wanted = {"bloom", "albert", "gpt_neox", "bart", "electra", "wav2vec2", "phi", "deepseek_v3", "gpt_oss"}
    assert wanted | {"qwen3_moe"} <= set(families())
