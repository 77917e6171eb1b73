"""Hugging Face's encoders of text and sound: what their configurations mean for our networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.huggingface import check_width, family, head, shortened, split_width
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.huggingface import Params
    from estimator.convert.settings import Settings

USUAL_LENGTH = 512  # of a text in training


@family("bert_base", "bert")
def _bert(config: Settings) -> Params:
    return _bert_like(config, padding=0)


def _bert_like(config: Settings, *, padding: int) -> Params:
    """Return the parameters of an encoder; ``padding`` of its positions are no text's."""
    config.same(hidden_act="gelu", is_decoder=False, position_embedding_type="absolute")
    positions = config.count("max_position_embeddings", least=1 + padding)
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    return {
        "seq": shortened(config, positions - padding, USUAL_LENGTH), "positions": positions,
        "vocab": config.count("vocab_size"), "d": width, "heads": heads,
        "ffn": config.count("intermediate_size"), "layers": config.layers("num_hidden_layers"),
        "types": config.count("type_vocab_size", default=2),
        "head": head(config, "mlm", "pretraining", "qa", "classification"),
    }  # fmt: skip


@family("roberta_base", "roberta", "xlm-roberta", "camembert")
def _roberta(config: Settings) -> Params:
    """Two of the positions are those of padding."""
    return _bert_like(config, padding=2)


@family("distilbert_base", "distilbert")
def _distilbert(config: Settings) -> Params:
    config.same(activation="gelu")
    positions = config.count("max_position_embeddings")
    width, heads = check_width(config, "dim", "n_heads")
    return {
        "seq": positions, "positions": positions, "vocab": config.count("vocab_size"), "d": width,
        "heads": heads, "ffn": config.count("hidden_dim"), "layers": config.layers("n_layers"),
        "head": head(config, "qa", "classification"),
    }  # fmt: skip


@family("albert_base", "albert")
def _albert(config: Settings) -> Params:
    config.same(num_hidden_groups=1, inner_group_num=1)
    gelus = {"gelu": "none", "gelu_new": "new"}
    gelu = gelus.get(config.word("hidden_act", "gelu_new"))
    if gelu is None:
        raise config.wrong("hidden_act", "activation that this family has (gelu, gelu_new)")
    positions = config.count("max_position_embeddings")
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    return {
        "seq": shortened(config, positions, USUAL_LENGTH), "places": positions,
        "vocab": config.count("vocab_size"), "embedding": config.count("embedding_size"), "d": width,
        "heads": heads, "ffn": config.count("intermediate_size"),
        "layers": config.layers("num_hidden_layers"), "types": config.count("type_vocab_size", default=2),
        "head": head(config, "mlm", "qa", "classification"), "gelu": gelu,
        "dropout": config.share("hidden_dropout_prob", 0.0),
    }  # fmt: skip


@family("electra_base", "electra")
def _electra(config: Settings) -> Params:
    """Describe the discriminator alone; its generator has a configuration of its own."""
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    config.same(hidden_act="gelu", intermediate_size=4 * width)
    positions = config.count("max_position_embeddings")
    found = head(config, "pretraining", "qa", "classification")
    if found == "pretraining":
        config.notes.append("the discriminator is described without the generator it is trained with")
    return {
        "seq": shortened(config, positions, USUAL_LENGTH), "places": positions,
        "vocab": config.count("vocab_size"), "embedding": config.count("embedding_size"), "d": width,
        "heads": heads, "layers": config.layers("num_hidden_layers"),
        "types": config.count("type_vocab_size", default=2), "generator": 0, "head": found,
    }  # fmt: skip


_CONVOLUTIONS = 7


@family("wav2vec2_base", "wav2vec2", "hubert")
def _wav2vec2(config: Settings) -> Params:
    """Describe the encoder with its head for CTC."""
    config.same(
        hidden_act="gelu", feat_extract_activation="gelu", conv_dim=[512] * _CONVOLUTIONS,
        num_conv_pos_embeddings=128, num_conv_pos_embedding_groups=16, add_adapter=False,
        feat_proj_layer_norm=True, conv_pos_batch_norm=False,
    )  # fmt: skip
    norm = config.word("feat_extract_norm", "group")
    if norm not in ("group", "layer"):
        raise config.wrong("feat_extract_norm", "norm of this family (group, layer)")
    config.same(conv_bias=norm == "layer")
    width, heads = config.count("hidden_size"), config.count("num_attention_heads")
    split_width(config, width, heads, "hidden_size", "num_attention_heads")
    if width % 16:
        raise InputError(f"{config.where}: hidden_size: {width} is no multiple of the 16 groups of positions")
    return {
        "d": width, "heads": heads, "ffn": config.count("intermediate_size"),
        "layers": config.layers("num_hidden_layers"), "symbols": config.count("vocab_size"),
        "kernels": list(config.counts("conv_kernel", _CONVOLUTIONS)),
        "strides": list(config.counts("conv_stride", _CONVOLUTIONS)), "layer_norms": norm == "layer",
    }  # fmt: skip
