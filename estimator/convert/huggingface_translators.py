"""Hugging Face's pairs of encoder and decoder: what their configurations mean for our networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.huggingface import check_width, family

if TYPE_CHECKING:
    from estimator.convert.huggingface import Params
    from estimator.convert.settings import Settings


@family("t5_small", "t5")
def _t5(config: Settings) -> Params:
    kind = config.word("feed_forward_proj", "relu")
    if kind not in ("relu", "gated-gelu"):
        raise config.wrong("feed_forward_proj", "feed-forward that this family has (relu, gated-gelu)")
    layers = config.layers("num_layers")
    config.same(
        num_decoder_layers=layers, relative_attention_num_buckets=32, tie_word_embeddings=kind == "relu"
    )
    return {
        "seq": config.count("n_positions", default=512), "vocab": config.count("vocab_size"),
        "d": config.count("d_model"), "heads": config.count("num_heads"), "head_dim": config.count("d_kv"),
        "ffn": config.count("d_ff"), "layers": layers, "gated": kind != "relu",
    }  # fmt: skip


@family("t5_small", "mt5")
def _mt5(config: Settings) -> Params:
    return _t5(config.with_defaults(feed_forward_proj="gated-gelu"))


@family("bart_large", "bart")
def _bart(config: Settings) -> Params:
    width, heads = check_width(config, "d_model", "encoder_attention_heads")
    ffn, layers = config.count("encoder_ffn_dim"), config.layers("encoder_layers")
    config.same(
        decoder_attention_heads=heads, decoder_ffn_dim=ffn, decoder_layers=layers, activation_function="gelu",
        tie_word_embeddings=True,
    )  # fmt: skip
    positions = config.count("max_position_embeddings")
    return {
        "seq": positions, "places": positions, "vocab": config.count("vocab_size"), "d": width,
        "heads": heads, "ffn": ffn, "layers": layers, "dropout": config.share("dropout", 0.1),
    }  # fmt: skip


@family("whisper_small", "whisper")
def _whisper(config: Settings) -> Params:
    config.same(activation_function="gelu")
    width, heads = check_width(config, "d_model", "encoder_attention_heads")
    ffn = config.count("encoder_ffn_dim")
    config.same(decoder_ffn_dim=ffn, decoder_attention_heads=heads)
    places = config.count("max_target_positions")
    return {
        "frames": 2 * config.count("max_source_positions"), "seq": places,
        "mels": config.count("num_mel_bins"), "vocab": config.count("vocab_size"), "d": width,
        "heads": heads, "ffn": ffn, "layers": config.layers("encoder_layers"),
        "decoder_layers": config.layers("decoder_layers"), "target_places": places,
    }  # fmt: skip
