"""Transformer layers as torch.nn builds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from estimator.layers.transformer import Block
from estimator.measure.modules.registry import builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call


class Masked(nn.Module):  # type: ignore[misc]
    """One of torch.nn's transformer modules, told about causal attention at each call."""

    def __init__(self, layer: nn.Module, prefix: str, length: int | None) -> None:
        super().__init__()
        self.layer = layer
        self.prefix = prefix
        mask = nn.Transformer.generate_square_subsequent_mask(length) if length else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, *inputs: Torch) -> Torch:
        """Run the layers."""
        if self.mask is None:
            return self.layer(*inputs)
        name = "is_causal" if self.prefix in ("src", "") else f"{self.prefix}_is_causal"
        mask = "mask" if self.prefix == "" else f"{self.prefix}_mask"
        return self.layer(*inputs, **{mask: self.mask, name: True})


def _shared(call: Call) -> dict[str, Any]:
    given = call.arguments()
    names = ("nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first",
             "norm_first", "bias")  # fmt: skip
    return {"d_model": call.shape[-1]} | {name: given[name] for name in names}


def _length(call: Call, place: int) -> int | None:
    """Return the length of the sequence that must not look ahead, None where it may."""
    layer = call.layer
    if not isinstance(layer, Block) or not layer.causal:
        return None
    shape = call.inputs[place].shape
    return shape[1 if layer.batch_first and len(shape) > 2 else 0]  # noqa: PLR2004 - a batch of sequences


def _norm(call: Call) -> nn.Module | None:
    given = call.arguments()
    if not given["norm"]:
        return None
    return nn.LayerNorm(call.shape[-1], given["layer_norm_eps"], bias=given["bias"])


@builds("TransformerEncoderLayer")
def encoder_layer(call: Call) -> nn.Module:
    """Build self-attention and a feed-forward network."""
    return Masked(nn.TransformerEncoderLayer(**_shared(call)), "src", _length(call, 0))


@builds("TransformerDecoderLayer")
def decoder_layer(call: Call) -> nn.Module:
    """Build attention to itself and to a memory, feed-forward."""
    return Masked(nn.TransformerDecoderLayer(**_shared(call)), "tgt", _length(call, 0))


@builds("TransformerEncoder")
def encoder(call: Call) -> nn.Module:
    """Build a stack of encoder layers."""
    layers = call.arguments()["num_layers"]
    if not layers:
        return _norm(call) or nn.Identity()
    stack = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**_shared(call)), layers, _norm(call), enable_nested_tensor=False
    )
    return Masked(stack, "", _length(call, 0))


class First(nn.Module):  # type: ignore[misc]
    """A module of the first of several inputs."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Torch, *others: Torch) -> Torch:
        """Leave the others out."""
        del others
        return self.layer(x)


@builds("TransformerDecoder")
def decoder(call: Call) -> nn.Module:
    """Build a stack of decoder layers that attend to one memory."""
    layers = call.arguments()["num_layers"]
    if not layers:
        return First(_norm(call) or nn.Identity())
    stack = nn.TransformerDecoder(nn.TransformerDecoderLayer(**_shared(call)), layers, _norm(call))
    return Masked(stack, "tgt", _length(call, 0))


@builds("Transformer")
def transformer(call: Call) -> nn.Module:
    """Build encoder and decoder, each ending in a norm."""
    given = call.arguments()
    stack = nn.Transformer(
        **_shared(call),
        num_encoder_layers=given["num_encoder_layers"],
        num_decoder_layers=given["num_decoder_layers"],
    )
    return Masked(stack, "tgt", _length(call, 1))
