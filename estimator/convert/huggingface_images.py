"""Hugging Face's networks of images: what their configurations mean for our networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.huggingface import architecture, check_width, classes, family
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.huggingface import Params
    from estimator.convert.settings import Settings

_STAGES = 4


def _square(config: Settings, key: str, default: int | None = None) -> int:
    """Return a size written as one number or, where both sides are the same, as two."""
    rows, columns = config.sizes(key, 2, default)
    if rows != columns:
        raise InputError(
            f"{config.where}: {key}: {rows} by {columns} is not square, which this family takes",
            hint="convert the module itself: torch:module:callable",
        )
    return rows


@family("vit_b_16", "vit")
def _vit(config: Settings) -> Params:
    config.same(hidden_act="gelu", num_channels=3, qkv_bias=True)
    image, patch = _square(config, "image_size"), _square(config, "patch_size")
    if image < patch:
        raise InputError(f"{config.where}: image_size: {image} is smaller than a patch of {patch}")
    width, heads = check_width(config, "hidden_size", "num_attention_heads")
    return {
        "classes": classes(config, 1000), "image": image, "patch": patch, "d": width, "heads": heads,
        "ffn": config.count("intermediate_size"), "layers": config.layers("num_hidden_layers"),
    }  # fmt: skip


@family("swin_t", "swin")
def _swin(config: Settings) -> Params:
    config.same(
        hidden_act="gelu",
        num_channels=3,
        qkv_bias=True,
        patch_size=4,
        mlp_ratio=4,
        use_absolute_embeddings=False,
    )
    return {
        "classes": classes(config, 1000), "image": _square(config, "image_size"),
        "d": config.count("embed_dim"), "depths": list(config.counts("depths", _STAGES)),
        "heads": list(config.counts("num_heads", _STAGES)), "window": config.count("window_size"),
    }  # fmt: skip


@family("convnext_tiny", "convnext")
def _convnext(config: Settings) -> Params:
    config.same(hidden_act="gelu", num_channels=3, patch_size=4, num_stages=_STAGES)
    if not config.number("layer_scale_init_value", 1e-6) > 0:
        raise config.wrong("layer_scale_init_value", "positive number, which this family has")
    return {
        "classes": classes(config, 1000), "image": _square(config, "image_size", 224),
        "widths": list(config.counts("hidden_sizes", _STAGES)),
        "depths": list(config.counts("depths", _STAGES)),
    }  # fmt: skip


@family("segformer_b0", "segformer")
def _segformer(config: Settings) -> Params:
    """Describe the network that labels each pixel; the image's size is not in its configuration."""
    config.same(
        hidden_act="gelu", num_channels=3, patch_sizes=[7, 3, 3, 3], strides=[4, 2, 2, 2],
        mlp_ratios=[4] * _STAGES, num_encoder_blocks=_STAGES,
    )  # fmt: skip
    if "ImageClassification" in architecture(config):
        raise InputError(
            f"{config.where}: architectures: {architecture(config)} is not described by this family"
        )
    config.notes.append("images of 512 pixels are assumed; --set image=N takes others")
    return {
        "image": 512, "classes": classes(config, 150), "widths": list(config.counts("hidden_sizes", _STAGES)),
        "depths": list(config.counts("depths", _STAGES)),
        "heads": list(config.counts("num_attention_heads", _STAGES)),
        "reduce": list(config.counts("sr_ratios", _STAGES)), "decoder": config.count("decoder_hidden_size"),
    }  # fmt: skip
