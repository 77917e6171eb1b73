"""Hugging Face's mixtures of experts: what their configurations mean for our networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.huggingface import family, shortened
from estimator.convert.huggingface_decoders import USUAL_CONTEXT, decoder
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.huggingface import Params
    from estimator.convert.settings import Settings


def _experts(config: Settings, *keys: str) -> Params:
    experts = config.count(*keys)
    return {"experts": experts, "top_k": config.count("num_experts_per_tok", most=experts)}


@family("mixtral", "mixtral")
def _mixtral(config: Settings) -> Params:
    config.same(hidden_act="silu", tie_word_embeddings=False)
    return decoder(config) | _experts(config, "num_local_experts")


@family("mixtral", "qwen3_moe")
def _qwen3_moe(config: Settings) -> Params:
    config.same(
        hidden_act="silu", tie_word_embeddings=False, attention_bias=False, decoder_sparse_step=1,
        mlp_only_layers=[],
    )  # fmt: skip
    found = decoder(config) | _experts(config, "num_experts", "num_local_experts")
    return found | {"ffn": config.count("moe_intermediate_size"), "qk_norm": True}


@family("gpt_oss", "gpt_oss")
def _gpt_oss(config: Settings) -> Params:
    config.same(hidden_act="silu", tie_word_embeddings=False, attention_bias=True)
    layers = config.layers("num_hidden_layers")
    wanted = [("sliding_attention", "full_attention")[n % 2] for n in range(layers)]
    config.same(layer_types=wanted)
    config.notes.append("biases of the experts and sinks of the attention are not counted")
    window = config.count("sliding_window", default=128)
    found = decoder(config.with_defaults(head_dim=64)) | _experts(config, "num_local_experts", "num_experts")
    return found | {"window": window}


@family("deepseek_v3", "deepseek_v3", "deepseek_v2")
def _deepseek(config: Settings) -> Params:
    """Describe attention through narrow latents; some layers at the front have no experts."""
    config.same(hidden_act="silu", tie_word_embeddings=False, attention_bias=False, moe_layer_freq=1)
    if config.get("q_lora_rank") is None:
        raise InputError(
            f"{config.where}: q_lora_rank: queries without a latent are not described by this family",
            hint="convert the module itself: torch:module:callable",
        )
    layers = config.layers("num_hidden_layers")
    if config.count("num_nextn_predict_layers", default=0, least=0):
        config.notes.append("layers that predict a second token (num_nextn_predict_layers) are left out")
    positions = config.count("max_position_embeddings", default=USUAL_CONTEXT)
    return {
        "seq": shortened(config, positions, USUAL_CONTEXT), "vocab": config.count("vocab_size"),
        "d": config.count("hidden_size"), "heads": config.count("num_attention_heads"), "layers": layers,
        "dense_layers": config.count("first_k_dense_replace", least=0, most=layers),
        "dense_ffn": config.count("intermediate_size"), "ffn": config.count("moe_intermediate_size"),
        "shared": config.count("n_shared_experts"), "q_rank": config.count("q_lora_rank"),
        "kv_rank": config.count("kv_lora_rank"), "nope": config.count("qk_nope_head_dim"),
        "rope": config.count("qk_rope_head_dim"), "depth": config.count("v_head_dim"),
    } | _experts(config, "n_routed_experts", "num_local_experts")  # fmt: skip
