"""Hugging Face ``config.json`` files to our YAML: a family of ours with the configuration's numbers.

Nothing but the JSON is read: no package, no weights, no code of the model's repository.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

Config = dict[str, Any]

FAMILIES: dict[str, tuple[str, Callable[[Config], Config]]] = {}


def family(model_type: str, base: str) -> Callable[[Callable[[Config], Config]], Callable[[Config], Config]]:
    """Register how a ``model_type`` becomes the parameters of a network of ours."""

    def add(function: Callable[[Config], Config]) -> Callable[[Config], Config]:
        FAMILIES[model_type] = (base, function)
        return function

    return add


def huggingface_network(text: str, name: str) -> dict[str, Any]:
    """Return the plain network of a ``config.json``. Raises InputError for what cannot be described."""
    try:
        config = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    if not isinstance(config, dict) or "model_type" not in config:
        raise InputError(
            f"{name}: no 'model_type' in it", hint="give the config.json of a transformers model"
        )
    kind = str(config["model_type"])
    if kind not in FAMILIES:
        hint = suggestion(kind, FAMILIES) or f"known are {', '.join(sorted(FAMILIES))}"
        raise InputError(f"{name}: model type {kind!r} is not known", hint=hint)
    base, parameters = FAMILIES[kind]
    source = f"config.json of {config.get('_name_or_path') or name}, model type {kind}"
    return {"format": 1, "name": name, "base": base, "source": source, "params": parameters(config)}


def _need(config: Config, key: str, *others: str) -> Any:  # noqa: ANN401 - a value of JSON
    """Return a value under the first of several keys that is there."""
    for one in (key, *others):
        if config.get(one) is not None:
            return config[one]
    raise InputError(f"the configuration has no {key!r}")


def _refuse(config: Config, **allowed: Any) -> None:  # noqa: ANN401 - values of JSON
    """Raise InputError for a setting that the family cannot express."""
    for key, value in allowed.items():
        if config.get(key, value) not in (value, None):
            raise InputError(
                f"{key}: {config[key]!r} is not described by this family",
                hint="convert the module itself: torch:module:callable",
            )


def _activation(config: Config, key: str) -> Config:
    """Return the parameters for an activation by its name in transformers."""
    name = config.get(key) or "gelu"
    gelus = {
        "gelu": "none",
        "gelu_new": "new",
        "gelu_pytorch_tanh": "tanh",
        "gelu_fast": "new",
        "quick_gelu": "quick",
    }
    if name in gelus:
        return {"activation": "GELU", "gelu": gelus[name]}
    others = {"relu": "ReLU", "silu": "SiLU", "swish": "SiLU"}
    if name not in others:
        raise InputError(f"{key}: unknown activation {name!r}")
    return {"activation": others[name]}


@family("gpt2", "gpt2")
def _gpt2(config: Config) -> Config:
    _refuse(config, add_cross_attention=False)
    width = _need(config, "n_embd")
    return {
        "seq": _need(config, "n_positions", "n_ctx"), "vocab": _need(config, "vocab_size"), "d": width,
        "heads": _need(config, "n_head"), "layers": _need(config, "n_layer"),
        "ffn": config.get("n_inner") or 4 * width, "dropout": config.get("resid_pdrop", 0.1),
    } | _activation(config, "activation_function")  # fmt: skip


def _bert(config: Config) -> Config:
    if config.get("hidden_act", "gelu") != "gelu":
        raise InputError(f"hidden_act: {config['hidden_act']!r} is not described by this family")
    positions = _need(config, "max_position_embeddings")
    return {
        "seq": min(512, positions), "positions": positions, "vocab": _need(config, "vocab_size"),
        "d": _need(config, "hidden_size"), "heads": _need(config, "num_attention_heads"),
        "ffn": _need(config, "intermediate_size"), "layers": _need(config, "num_hidden_layers"),
        "types": config.get("type_vocab_size", 2), "head": _head(config),
    }  # fmt: skip


def _head(config: Config) -> str:
    """Return which head the architecture puts on an encoder."""
    name = (config.get("architectures") or [""])[0]
    for word, head in (
        ("MaskedLM", "mlm"), ("PreTraining", "pretraining"), ("QuestionAnswering", "qa"),
        ("SequenceClassification", "classification"),
    ):  # fmt: skip
        if word in name:
            return head
    return "none"


family("bert", "bert_base")(_bert)


@family("roberta", "roberta_base")
def _roberta(config: Config) -> Config:
    return _bert(config) | {"seq": min(512, _need(config, "max_position_embeddings") - 2)}


family("xlm-roberta", "roberta_base")(_roberta)
family("camembert", "roberta_base")(_roberta)


@family("distilbert", "distilbert_base")
def _distilbert(config: Config) -> Config:
    head = _head(config)
    if head not in ("none", "qa", "classification"):
        raise InputError(f"architectures: {config['architectures']} is not described by this family")
    return {
        "seq": _need(config, "max_position_embeddings"), "positions": _need(config,
        "max_position_embeddings"),
        "vocab": _need(config, "vocab_size"), "d": _need(config, "dim"), "heads": _need(config, "n_heads"),
        "ffn": _need(config, "hidden_dim"), "layers": _need(config, "n_layers"), "head": head,
    }  # fmt: skip


def _decoder(config: Config) -> Config:
    """Return what all decoders with rotary positions and gated feed-forward have."""
    width, heads = _need(config, "hidden_size"), _need(config, "num_attention_heads")
    return {
        "seq": min(2048, config.get("max_position_embeddings") or 2048), "vocab": _need(config, "vocab_size"),
        "d": width, "heads": heads, "kv_heads": config.get("num_key_value_heads") or heads,
        "head_dim": config.get("head_dim") or width // heads, "ffn": _need(config, "intermediate_size"),
        "layers": _need(config, "num_hidden_layers"),
    }  # fmt: skip


@family("llama", "llama")
def _llama(config: Config) -> Config:
    _refuse(config, mlp_bias=False, attention_bias=False, hidden_act="silu")
    return _decoder(config) | {"tied": bool(config.get("tie_word_embeddings", False))}


@family("mistral", "llama")
def _mistral(config: Config) -> Config:
    """Sequences up to the sliding window are attended to in full."""
    found = _llama(config)
    return found | {"seq": min(found["seq"], config.get("sliding_window") or found["seq"])}


@family("qwen2", "llama")
def _qwen2(config: Config) -> Config:
    _refuse(config, hidden_act="silu")
    tied = bool(config.get("tie_word_embeddings", False))
    return _decoder(config) | {"tied": tied, "qkv_bias": True}


@family("qwen3", "llama")
def _qwen3(config: Config) -> Config:
    _refuse(config, hidden_act="silu", attention_bias=False)
    tied = bool(config.get("tie_word_embeddings", False))
    return _decoder({"head_dim": 128} | config) | {"tied": tied, "qk_norm": True}


@family("mixtral", "mixtral")
def _mixtral(config: Config) -> Config:
    _refuse(config, hidden_act="silu", tie_word_embeddings=False)
    experts = {"experts": _need(config, "num_local_experts"), "top_k": _need(config, "num_experts_per_tok")}
    return _decoder(config) | experts


@family("gemma", "gemma_2b")
def _gemma(config: Config) -> Config:
    _refuse(config, attention_bias=False)
    return _decoder({"head_dim": 256} | config)


@family("opt", "opt_125m")
def _opt(config: Config) -> Config:
    width = _need(config, "hidden_size")
    _refuse(config, word_embed_proj_dim=width, do_layer_norm_before=True, activation_function="relu")
    return {
        "seq": _need(config, "max_position_embeddings"), "vocab": _need(config, "vocab_size"), "d": width,
        "heads": _need(config, "num_attention_heads"), "layers": _need(config, "num_hidden_layers"),
        "ffn": _need(config, "ffn_dim"), "dropout": config.get("dropout", 0.1),
    }  # fmt: skip


@family("t5", "t5_small")
def _t5(config: Config) -> Config:
    kind = config.get("feed_forward_proj", "relu")
    if kind not in ("relu", "gated-gelu"):
        raise InputError(f"feed_forward_proj: {kind!r} is not described by this family")
    layers = _need(config, "num_layers")
    _refuse(config, num_decoder_layers=layers, relative_attention_num_buckets=32)
    return {
        "seq": config.get("n_positions", 512), "vocab": _need(config, "vocab_size"), "d": _need(config,
        "d_model"),
        "heads": _need(config, "num_heads"), "head_dim": _need(config, "d_kv"), "ffn": _need(config, "d_ff"),
        "layers": layers, "gated": kind != "relu",
    }  # fmt: skip


@family("vit", "vit_b_16")
def _vit(config: Config) -> Config:
    _refuse(config, hidden_act="gelu", num_channels=3, qkv_bias=True)
    return {
        "classes": len(config["id2label"]) if config.get("id2label") else 1000,
        "image": _need(config, "image_size"), "patch": _need(config, "patch_size"),
        "d": _need(config, "hidden_size"), "heads": _need(config, "num_attention_heads"),
        "ffn": _need(config, "intermediate_size"), "layers": _need(config, "num_hidden_layers"),
    }  # fmt: skip


@family("whisper", "whisper_small")
def _whisper(config: Config) -> Config:
    _refuse(config, activation_function="gelu")
    width, ffn = _need(config, "d_model"), _need(config, "encoder_ffn_dim")
    _refuse(config, decoder_ffn_dim=ffn, decoder_attention_heads=_need(config, "encoder_attention_heads"))
    return {
        "frames": 2 * _need(config, "max_source_positions"), "seq": _need(config, "max_target_positions"),
        "mels": _need(config, "num_mel_bins"), "vocab": _need(config, "vocab_size"), "d": width,
        "heads": config["encoder_attention_heads"], "ffn": ffn, "layers": _need(config, "encoder_layers"),
        "decoder_layers": _need(config, "decoder_layers"), "target_places": config["max_target_positions"],
    }  # fmt: skip
