"""Transformer layers as torch.nn builds them: encoder, decoder, their stacks, and both together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from estimator.layers.activation import GELU, ReLU
from estimator.layers.arguments import DepthOrNone, Positive, PositiveFloat, Share
from estimator.layers.attention import MultiheadAttention
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.arithmetic import add
from estimator.layers.functional.norms import layer_norm
from estimator.layers.functional.pointwise import dropout, fork
from estimator.layers.linear import Linear
from estimator.layers.scopes import scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.layers.tape import Tape, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Layer):
    """What all of these layers share.

    ``batch_first`` is true in this language. Beyond torch.nn, which is told by masks at each call:
    ``causal`` and ``mask`` (padding) describe the self-attention, ``kernel`` chooses how it is computed.
    """

    nhead: Positive = 8
    d_model: Positive | None = None
    dim_feedforward: Positive = 2048
    dropout: Share = 0.1
    activation: Literal["relu", "gelu"] = "relu"
    layer_norm_eps: PositiveFloat = 1e-5
    batch_first: bool = True
    norm_first: bool = False
    bias: bool = True
    causal: bool = False
    mask: bool = False
    kernel: Literal["math", "flash"] | None = None

    def check(self, inputs: tuple[Tensor, ...], count: int) -> None:
        """Refuse inputs that do not fit."""
        if len(inputs) != count:
            raise LayerError(f"{self.type_name} takes {count} input(s), got {len(inputs)}")
        for x in inputs:
            if self.d_model not in (None, x.shape[-1]) or x.shape[-1] != inputs[0].shape[-1]:
                raise LayerError(
                    f"{self.type_name}.d_model is {self.d_model or inputs[0].shape[-1]} but an input has "
                    f"{x.shape[-1]} features",
                    argument="d_model" if self.d_model else None,
                )

    def sublayer(self, tape: Tape, x: Tensor, norm: str, run: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``x`` plus what ``run`` makes of it, normalised before or after."""
        fork(tape, x)
        if self.norm_first:
            return add(tape, x, dropout(tape, run(self.normalise(tape, x, norm)), p=self.dropout))
        return self.normalise(tape, add(tape, x, dropout(tape, run(x), p=self.dropout)), norm)

    def normalise(self, tape: Tape, x: Tensor, name: str) -> Tensor:
        """Layer norm over the features."""
        size = x.shape[-1]
        names = ("weight", "bias") if self.bias else ("weight",)
        return layer_norm(tape, x, [tape.weight(f"{name}.{part}", (size,)) for part in names], size=size)

    def attend(self, tape: Tape, name: str, *inputs: Tensor, masked: bool) -> Tensor:
        """Multi-head attention, from ``x`` or from ``x`` to a memory."""
        layer = MultiheadAttention(
            num_heads=self.nhead, dropout=self.dropout, bias=self.bias, batch_first=self.batch_first,
            causal=self.causal and masked, mask=self.mask and masked, kernel=self.kernel, style="torch",
        )  # fmt: skip
        with scope(tape, name):
            return layer.forward(tape, *inputs)

    def feed_forward(self, tape: Tape, x: Tensor) -> Tensor:
        """Two linear layers with an activation between them."""
        with scope(tape, "linear1"):
            hidden = Linear(out_features=self.dim_feedforward, bias=self.bias).forward(tape, x)
        activation = ReLU() if self.activation == "relu" else GELU()
        hidden = dropout(tape, activation.forward(tape, hidden), p=self.dropout)
        with scope(tape, "linear2"):
            return Linear(out_features=x.shape[-1], bias=self.bias).forward(tape, hidden)


B = TypeVar("B", bound=Block)


def same_arguments(block: Block, kind: type[B], **changes: Any) -> B:  # noqa: ANN401  (any argument)
    """Return a layer of another kind with the arguments that ``block`` shares with it."""
    arguments = {f.name: getattr(block, f.name) for f in fields(Block)}
    return kind(**(arguments | changes))


@register("TransformerEncoderLayer", Example(((2, 10, 16),), {"nhead": 4, "dim_feedforward": 32}))
class TransformerEncoderLayer(Block):
    """``(N, L, E) -> (N, L, E)``: self-attention and a feed-forward network, each with a residual."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run both sublayers."""
        self.check(inputs, 1)
        (x,) = inputs
        x = self.sublayer(tape, x, "norm1", lambda y: self.attend(tape, "self_attn", y, masked=True))
        return self.sublayer(tape, x, "norm2", lambda y: self.feed_forward(tape, y))


@register("TransformerDecoderLayer", Example(((2, 10, 16), (2, 7, 16)), {"nhead": 4, "dim_feedforward": 32}))
class TransformerDecoderLayer(Block):
    """``(N, L, E), memory (N, S, E) -> (N, L, E)``: attention to itself and to a memory, feed-forward."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run the three sublayers."""
        self.check(inputs, 2)
        x, memory = inputs
        x = self.sublayer(tape, x, "norm1", lambda y: self.attend(tape, "self_attn", y, masked=True))
        x = self.sublayer(
            tape, x, "norm2", lambda y: self.attend(tape, "multihead_attn", y, memory, masked=False)
        )
        return self.sublayer(tape, x, "norm3", lambda y: self.feed_forward(tape, y))


@register(
    "TransformerEncoder",
    Example(((2, 10, 16),), {"num_layers": 2, "nhead": 4, "dim_feedforward": 32, "norm": True}),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerEncoder(Block):
    """``(N, L, E) -> (N, L, E)``: ``num_layers`` encoder layers, and a norm if asked for."""

    num_layers: DepthOrNone
    norm: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run the layers."""
        self.check(inputs, 1)
        (x,) = inputs
        layer = same_arguments(self, TransformerEncoderLayer)
        for index in range(self.num_layers):
            with scope(tape, f"layers.{index}"):
                x = layer.forward(tape, x)
        return layer.normalise(tape, x, "norm") if self.norm else x


@register(
    "TransformerDecoder",
    Example(((2, 10, 16), (2, 7, 16)), {"num_layers": 2, "nhead": 4, "dim_feedforward": 32, "norm": True}),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerDecoder(Block):
    """``(N, L, E), memory (N, S, E) -> (N, L, E)``: decoder layers that all attend to one memory."""

    num_layers: DepthOrNone
    norm: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run the layers."""
        self.check(inputs, 2)
        x, memory = inputs
        layer = same_arguments(self, TransformerDecoderLayer)
        fork(tape, memory, self.num_layers)
        for index in range(self.num_layers):
            with scope(tape, f"layers.{index}"):
                x = layer.forward(tape, x, memory)
        return layer.normalise(tape, x, "norm") if self.norm else x


@register(
    "Transformer",
    Example(
        ((2, 7, 16), (2, 10, 16)),
        {"num_encoder_layers": 1, "num_decoder_layers": 1, "nhead": 4, "dim_feedforward": 32},
    ),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer(Block):
    """``source (N, S, E), target (N, L, E) -> (N, L, E)``; ``causal`` is about the target."""

    num_encoder_layers: DepthOrNone = 6
    num_decoder_layers: DepthOrNone = 6

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Encode the source, decode the target; both stacks end in a norm."""
        self.check(inputs, 2)
        source, target = inputs
        encoder = same_arguments(
            self, TransformerEncoder, num_layers=self.num_encoder_layers, norm=True, causal=False
        )
        decoder = same_arguments(self, TransformerDecoder, num_layers=self.num_decoder_layers, norm=True)
        with scope(tape, "encoder"):
            memory = encoder.forward(tape, source)
        with scope(tape, "decoder"):
            return decoder.forward(tape, target, memory)
