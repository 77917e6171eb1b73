"""Attention layers: MultiheadAttention with its projections, and the bare scaled dot product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from estimator.layers.arguments import Positive, Share
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.attention import (
    Mask,
    attention,
    attention_of_any_rank,
    is_flash,
    relative_bias,
)
from estimator.layers.functional.movement import contiguous, moved, permute, reshape, select, split
from estimator.layers.functional.norms import layer_norm, rms_norm
from estimator.layers.functional.pointwise import broadcast, fork
from estimator.layers.functional.products import linear
from estimator.layers.functional.rope import rotary
from estimator.workload.kernel import Op

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_SEPARATE = 3  # inputs: query, key and value
_UNBATCHED = 2  # dimensions of a sequence without a batch
_BY_HEADS = 4  # dimensions of (batch, heads, length, features)


@register("ScaledDotProductAttention", Example(((2, 4, 10, 8),) * 3))
@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledDotProductAttention(Layer):
    """``(N, H, L, D), (N, G, S, D), (N, G, S, V)[, mask] -> (N, H, L, V)``; H a multiple of G.

    A mask as fourth input is added to the scores, over which it broadcasts; ``mask: true`` stands for one
    that is made outside the network. Of another rank, ``(*, L, D), (*, S, D), (*, S, V) -> (*, L, V)``, no
    fused kernel takes it.
    """

    dropout: Share = 0.0
    causal: bool = False
    window: Positive | None = None
    mask: bool = False
    kernel: Literal["math", "flash"] | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Attend."""
        ranks = {len(t.shape) for t in inputs[:_SEPARATE]}
        if len(inputs) not in (_SEPARATE, _SEPARATE + 1) or len(ranks) > 1 or min(ranks) <= _UNBATCHED:
            raise LayerError(
                f"{self.type_name} takes query, key and value, each (batch, heads, length, features), and "
                f"perhaps a mask, got {[list(t.shape) for t in inputs]}"
            )
        q, k, v, *masks = inputs
        bias = masks[0] if masks else None
        if bias is not None:
            scores = (*q.shape[:-1], k.shape[-2])
            if broadcast(bias.shape, scores, "attention mask") != scores:
                raise LayerError(f"attention mask {list(bias.shape)} does not fit scores {list(scores)}")
        mask = Mask(causal=self.causal, window=self.window, padding=self.mask, bias=bias)
        if ranks == {_BY_HEADS}:
            return attention(tape, q, k, v, flash=is_flash(tape, self.kernel), mask=mask, p=self.dropout)
        fused = is_flash(tape, self.kernel)
        return attention_of_any_rank(tape, q, k, v, asked_fused=fused, mask=mask, p=self.dropout)


@register("RoPE", Example(((2, 4, 10, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class RoPE(Layer):
    """``(*, L, D) -> (*, L, D)``: rotary position embedding of ``dim`` features (all by default)."""

    dim: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Turn the features."""
        (x,) = inputs
        if len(x.shape) < 2 or (self.dim or 0) > x.shape[-1]:  # noqa: PLR2004  (length and features)
            raise LayerError(f"RoPE: cannot turn {self.dim or 'the'} features of {list(x.shape)}")
        return rotary(tape, x, self.dim)


@register("MultiheadAttention", Example(((2, 10, 16),), {"num_heads": 4}))
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiheadAttention(Layer):
    """``(N, L, E)[, (N, S, kdim)[, (N, S, vdim)]] -> (N, L, E)``.

    One input is self-attention, two are queries and a context, three queries, keys and values.
    ``batch_first`` is true in this language; ``(L, E)`` has no batch. Beyond torch.nn: ``num_kv_heads``
    shares keys and values among heads, ``head_dim`` need not be ``E / num_heads``, ``out_bias`` may differ
    from ``bias``, ``packed: false`` projects query, key and value by products of their own, ``rope`` turns
    queries and keys (``rope_dim`` features of each head), ``qk_norm`` normalises each head's, ``mask`` adds
    a padding mask, ``position_bias`` adds a bias to the scores ("relative" owns a table, "shared" and
    "alibi" do not). ``style`` says whose code runs: "direct" splits heads by views, as model code does;
    "torch" copies to time-first order as torch.nn.MultiheadAttention does.
    """

    num_heads: Positive
    embed_dim: Positive | None = None
    num_kv_heads: Positive | None = None
    head_dim: Positive | None = None
    kdim: Positive | None = None
    vdim: Positive | None = None
    dropout: Share = 0.0
    bias: bool = True
    out_bias: bool | None = None
    add_bias_kv: bool = False
    add_zero_attn: bool = False
    batch_first: bool = True
    packed: bool = True
    causal: bool = False
    window: Positive | None = None
    mask: bool = False
    kernel: Literal["math", "flash"] | None = None
    rope: bool = False
    rope_dim: Positive | None = None
    qk_norm: bool | Literal["rms", "layer"] = False
    position_bias: Literal["relative", "shared", "alibi"] | None = None
    num_buckets: Positive = 32
    style: Literal["direct", "torch"] = "direct"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Project, split into heads, attend, join the heads, project."""
        self._check(inputs)
        width = inputs[0].shape[-1]
        q, k, v = self._project(tape, [self._ordered(tape, x) for x in inputs])
        if self.qk_norm:
            q, k = self._normalise(tape, q, "q_norm"), self._normalise(tape, k, "k_norm")
        by_head = (1, 2, 0, 3) if self._time_first else (0, 2, 1, 3)
        q, k, v = (permute(tape, t, by_head) for t in (q, k, v))
        k, v = self._extend(tape, k), self._extend(tape, v)
        if self.rope:
            q, k = rotary(tape, q, self.rope_dim), rotary(tape, k, self.rope_dim)
        bias = self._bias(tape, q.shape[2], k.shape[2])
        mask = Mask(causal=self.causal, window=self.window, padding=self.mask, bias=bias)
        y = attention(tape, q, k, v, flash=is_flash(tape, self.kernel), mask=mask, p=self.dropout)
        y = permute(tape, y, (2, 0, 1, 3) if self._time_first else (0, 2, 1, 3))
        y = reshape(tape, y, (*y.shape[:2], y.shape[2] * y.shape[3]))
        weight = tape.weight("out_proj.weight", (width, y.shape[-1]))
        with_bias = self.bias if self.out_bias is None else self.out_bias
        y = linear(tape, y, weight, tape.weight("out_proj.bias", (width,)) if with_bias else None)
        if len(inputs[0].shape) == _UNBATCHED:
            return tape.view(y, inputs[0].shape)
        return permute(tape, y, (1, 0, 2)) if self._time_first and self.batch_first else y

    @property
    def _time_first(self) -> bool:
        return self.style == "torch" or not self.batch_first

    def _ordered(self, tape: Tape, x: Tensor) -> Tensor:
        """Return ``x`` with a batch, in the order in which it is projected."""
        if len(x.shape) == _UNBATCHED:
            length, width = x.shape
            return tape.view(x, (length, 1, width) if self._time_first else (1, length, width))
        return permute(tape, x, (1, 0, 2)) if self._time_first and self.batch_first else x

    def _depth(self, width: int) -> int:
        """Features of one head."""
        return self.head_dim or width // self.num_heads

    def _check(self, inputs: tuple[Tensor, ...]) -> None:
        """Refuse inputs and arguments that do not fit each other."""
        ranks = {len(t.shape) for t in inputs}
        if not 1 <= len(inputs) <= _SEPARATE or ranks not in ({_UNBATCHED}, {_UNBATCHED + 1}):
            raise LayerError(
                "MultiheadAttention takes one to three inputs (batch, length, features), or all without the "
                f"batch, got {[list(t.shape) for t in inputs]}"
            )
        width, kdim, vdim = inputs[0].shape[-1], inputs[len(inputs) // 2].shape[-1], inputs[-1].shape[-1]
        for name, given, found in (
            ("embed_dim", self.embed_dim, width), ("kdim", self.kdim, kdim), ("vdim", self.vdim, vdim),
        ):  # fmt: skip
            if given not in (None, found):
                raise LayerError(
                    f"MultiheadAttention.{name} is {given} but the input has {found} features", argument=name
                )
        if self.head_dim is None and width % self.num_heads:
            raise LayerError(
                f"MultiheadAttention: {width} features cannot be split into {self.num_heads} heads",
                argument="num_heads",
            )
        if self.num_heads % (self.num_kv_heads or self.num_heads):
            raise LayerError(
                f"MultiheadAttention: num_heads {self.num_heads} must be a multiple of "
                f"num_kv_heads {self.num_kv_heads}",
                argument="num_kv_heads",
            )
        if (self.rope_dim or 0) > self._depth(width):
            raise LayerError(
                f"MultiheadAttention.rope_dim {self.rope_dim} exceeds the {self._depth(width)} features of "
                "a head",
                argument="rope_dim",
            )

    def _project(self, tape: Tape, inputs: list[Tensor]) -> tuple[Tensor, ...]:
        """Return query, key and value, each with its features split into ``(heads, depth)``.

        Projections of one tensor are one product unless ``packed`` is false.
        """
        depth, kv_heads = self._depth(inputs[0].shape[-1]), self.num_kv_heads or self.num_heads
        heads = {"q": self.num_heads, "k": kv_heads, "v": kv_heads}
        groups = [["qkv"], ["q", "kv"], ["q", "k", "v"]][len(inputs) - 1]
        sources = dict(zip(groups, inputs, strict=True))
        if not self.packed:
            fork(tape, inputs[-1], 4 - len(inputs))
            sources = {name: source for group, source in sources.items() for name in group}
        projected: list[Tensor] = []
        for group, source in sources.items():
            sizes = [heads[name] * depth for name in group]
            prefix = "in_proj" if group == "qkv" else f"{group}_proj"
            weight = tape.weight(f"{prefix}_weight", (sum(sizes), source.shape[-1]))
            bias = tape.weight(f"{prefix}_bias", (sum(sizes),)) if self.bias else None
            y = linear(tape, source, weight, bias)
            parts = split_copied(tape, y, sizes) if self.style == "torch" else split(tape, y, 2, sizes)
            projected += [
                reshape(tape, part, (*part.shape[:2], heads[name], depth))
                for name, part in zip(group, parts, strict=True)
            ]
        return tuple(projected)

    def _extend(self, tape: Tape, x: Tensor) -> Tensor:
        """Append a learned key or value, or one of zeros, to the sequence."""
        batch, heads, length, depth = x.shape
        for name, wanted in (("bias_kv", self.add_bias_kv), ("zero_attn", self.add_zero_attn)):
            if wanted:
                length += 1
                x = moved(tape, x, (batch, heads, length, depth), name, Op.CONCAT)
                if name == "bias_kv":
                    tape.weight(name, (1, 1, heads * depth))
        return x

    def _normalise(self, tape: Tape, x: Tensor, name: str) -> Tensor:
        """Normalise the features of each head."""
        depth = x.shape[-1]
        weight = tape.weight(f"{name}.weight", (depth,))
        if self.qk_norm == "layer":
            return layer_norm(tape, x, (weight, tape.weight(f"{name}.bias", (depth,))), size=depth)
        return rms_norm(tape, x, weight, dims=(len(x.shape) - 1,))

    def _bias(self, tape: Tape, queries: int, keys: int) -> Tensor | None:
        if self.position_bias is None:
            return None
        if self.position_bias == "relative":
            table = tape.weight("relative_attention_bias.weight", (self.num_buckets, self.num_heads))
            return relative_bias(tape, table, queries, keys)
        return tape.new((1, self.num_heads, queries, keys), tape.policy.activations, requires_grad=False)


def split_copied(tape: Tape, y: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
    """Return the parts of a packed projection as torch.nn.MultiheadAttention does.

    The parts are brought in front by a copy, then selected; each selection's gradient is written into
    zeros of the whole, and the wholes are added up.
    """
    parts = len(sizes)
    if parts == 1:
        return (y,)
    first, second, width = y.shape
    if len(set(sizes)) != 1:
        return split(tape, y, 2, sizes)
    apart = permute(tape, tape.view(y, (first, second, parts, width // parts)), (2, 0, 1, 3))
    apart = fork(tape, contiguous(tape, apart), parts)
    return tuple(select(tape, apart, 0) for _ in sizes)
