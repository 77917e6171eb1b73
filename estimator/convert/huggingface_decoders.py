"""Hugging Face's decoders of text: what their configurations mean for our networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.huggingface import activation, check_width, family, shortened, split_width
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.huggingface import Params
    from estimator.convert.settings import Settings

USUAL_CONTEXT = 2048  # of sequences in training, where a model's own context is longer


@family("gpt2", "gpt2")
def _gpt2(config: Settings) -> Params:
    config.same(add_cross_attention=False)
    width, heads = check_width(config, "n_embd", "n_head")
    return {
        "seq": config.count("n_positions", "n_ctx"), "vocab": config.count("vocab_size"), "d": width,
        "heads": heads, "layers": config.layers("n_layer"),
        "ffn": config.count("n_inner", default=4 * width), "dropout": config.share("resid_pdrop", 0.1),
    } | activation(config, "activation_function")  # fmt: skip


def decoder(config: Settings) -> Params:
    """Return what all decoders with rotary positions and gated feed-forward have."""
    width, heads = config.count("hidden_size"), config.count("num_attention_heads")
    kv_heads = config.count("num_key_value_heads", default=heads)
    if heads % kv_heads:
        raise InputError(
            f"{config.where}: num_key_value_heads: {kv_heads} do not divide num_attention_heads {heads}"
        )
    depth = config.count("head_dim", default=0) or split_width(
        config, width, heads, "hidden_size", "num_attention_heads"
    )
    positions = config.count("max_position_embeddings", default=USUAL_CONTEXT)
    return {
        "seq": shortened(config, positions, USUAL_CONTEXT), "vocab": config.count("vocab_size"),
        "d": width, "heads": heads, "kv_heads": kv_heads, "head_dim": depth,
        "ffn": config.count("intermediate_size"), "layers": config.layers("num_hidden_layers"),
    }  # fmt: skip


def _tied(config: Settings, *, default: bool = False) -> Params:
    return {"tied": config.flag("tie_word_embeddings", default=default)}


def _within_window(config: Settings, found: Params) -> Params:
    """Return the parameters with a sequence that the sliding window sees in full."""
    window = config.count("sliding_window", default=found["seq"])
    if window >= found["seq"]:
        return found
    config.notes.append(f"sequences are cut to the sliding window of {window} positions, attended to in full")
    return found | {"seq": window}


@family("llama", "llama")
def _llama(config: Settings) -> Params:
    config.same(mlp_bias=False, attention_bias=False, hidden_act="silu")
    return decoder(config) | _tied(config)


@family("llama", "mistral")
def _mistral(config: Settings) -> Params:
    return _within_window(config, _llama(config))


@family("llama", "phi3")
def _phi3(config: Settings) -> Params:
    """Query, key and value are one product, gate and up another."""
    config.same(partial_rotary_factor=1.0)
    return _mistral(config) | {"packed": True}


@family("llama", "qwen2")
def _qwen2(config: Settings) -> Params:
    config.same(hidden_act="silu")
    return decoder(config) | _tied(config) | {"qkv_bias": True}


@family("llama", "seed_oss")
def _seed_oss(config: Settings) -> Params:
    config.same(hidden_act="silu", mlp_bias=False, attention_out_bias=False, attention_bias=True)
    return decoder(config.with_defaults(head_dim=128)) | _tied(config) | {"qkv_bias": True}


@family("llama", "qwen3")
def _qwen3(config: Settings) -> Params:
    config.same(hidden_act="silu", attention_bias=False)
    return decoder(config.with_defaults(head_dim=128)) | _tied(config) | {"qk_norm": True}


@family("gemma_2b", "gemma")
def _gemma(config: Settings) -> Params:
    config.same(attention_bias=False, tie_word_embeddings=True)
    return decoder(config.with_defaults(head_dim=256))


@family("opt_125m", "opt")
def _opt(config: Settings) -> Params:
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    config.same(
        word_embed_proj_dim=width, do_layer_norm_before=True, activation_function="relu",
        tie_word_embeddings=True,
    )  # fmt: skip
    positions = config.count("max_position_embeddings")
    return {
        "seq": positions, "places": positions, "vocab": config.count("vocab_size"), "d": width,
        "heads": heads, "layers": config.layers("num_hidden_layers"),
        "ffn": config.count("ffn_dim"), "dropout": config.share("dropout", 0.1),
    }  # fmt: skip


@family("bloom_7b1", "bloom")
def _bloom(config: Settings) -> Params:
    width, heads = config.count("hidden_size", "n_embed"), config.count("n_head", "num_attention_heads")
    split_width(config, width, heads, "hidden_size", "n_head")
    config.same(tie_word_embeddings=True)
    return {
        "seq": config.count("seq_length", default=USUAL_CONTEXT), "vocab": config.count("vocab_size"),
        "d": width, "heads": heads, "layers": config.layers("n_layer", "num_hidden_layers"),
    }  # fmt: skip


def _turned(config: Settings, key: str, depth: int, default: float) -> int:
    """Return how many features of each head have rotary positions."""
    share = config.share(key, default)
    if not 0 < int(depth * share) <= depth:
        raise config.wrong(key, "share of a head's features")
    return int(depth * share)


@family("gpt_neox_20b", "gpt_neox")
def _gpt_neox(config: Settings) -> Params:
    config.same(use_parallel_residual=True, attention_bias=True, tie_word_embeddings=False)
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    found = activation(config, "hidden_act")
    if found["activation"] != "GELU":
        raise config.wrong("hidden_act", "kind of GELU, which this family has")
    positions = config.count("max_position_embeddings")
    return {
        "seq": shortened(config, positions, USUAL_CONTEXT), "vocab": config.count("vocab_size"),
        "d": width, "heads": heads, "ffn": config.count("intermediate_size"),
        "layers": config.layers("num_hidden_layers"), "gelu": found["gelu"],
        "rope_dim": _turned(config, "rotary_pct", width // heads, 0.25),
    }  # fmt: skip


@family("phi_2", "phi")
def _phi(config: Settings) -> Params:
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    config.same(
        num_key_value_heads=heads, qk_layernorm=False, hidden_act="gelu_new", tie_word_embeddings=False
    )
    positions = config.count("max_position_embeddings")
    return {
        "seq": shortened(config, positions, USUAL_CONTEXT), "vocab": config.count("vocab_size"),
        "d": width, "heads": heads, "ffn": config.count("intermediate_size"),
        "layers": config.layers("num_hidden_layers"),
        "rope_dim": _turned(config, "partial_rotary_factor", width // heads, 0.5),
    }  # fmt: skip


@family("phi_2", "gptj")
def _gptj(config: Settings) -> Params:
    """Attention has no biases; the rest is as in Phi."""
    config.same(activation_function="gelu_new", tie_word_embeddings=False)
    width, heads = check_width(config, "n_embd", "n_head")
    depth = width // heads
    return {
        "seq": shortened(config, config.count("n_positions"), USUAL_CONTEXT),
        "vocab": config.count("vocab_size"), "d": width, "heads": heads,
        "ffn": config.count("n_inner", default=4 * width), "layers": config.layers("n_layer"),
        "rope_dim": config.count("rotary_dim", default=depth, most=depth), "bias": False,
    }  # fmt: skip
