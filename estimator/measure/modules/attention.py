"""Attention layers, by torch.nn's module or written out as model code does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.layers.attention import MultiheadAttention
from estimator.measure.modules.registry import Weighted, builds
from estimator.software import AttentionKernel

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_UNBATCHED = 2  # dimensions of a sequence without a batch


def is_math(call: Call, kernel: str | None) -> bool:
    """Tell whether the scores are written out: as the layer says, else as the software does."""
    return AttentionKernel(kernel or call.setting.software.attention) is AttentionKernel.MATH


def attend(
    q: Torch,
    k: Torch,
    v: Torch,
    *,
    mask: Torch,
    causal: bool,
    p: float,
    math_kernel: bool,
) -> Torch:
    """Return ``softmax(q k^T / sqrt(D)) v``; ``mask`` is added or, of truth values, keeps what is true."""
    groups = q.shape[-3] // k.shape[-3]
    if groups > 1:
        k, v = (t.repeat_interleave(groups, -3) for t in (k, v))
    if not math_kernel:
        alone = causal and mask is None
        if causal and mask is not None:
            mask = _both(mask, band(q.shape[-2], k.shape[-2], None, q.device))
        return F.scaled_dot_product_attention(q, k, v, mask, dropout_p=p, is_causal=alone)
    root = math.sqrt(1 / math.sqrt(q.shape[-1]))
    scores = (q * root) @ (k * root).transpose(-2, -1)
    if causal:
        scores = scores.masked_fill(~band(q.shape[-2], k.shape[-2], None, q.device), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype is torch.bool else scores + mask
    weights = scores.softmax(-1)
    return (F.dropout(weights, p) if p else weights) @ v


def band(queries: int, keys: int, window: int | None, device: Torch) -> Torch:
    """Return a mask that is true where a query may look: not ahead, and not behind a window."""
    kept = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
    return kept if window is None else kept.triu(keys - queries - window + 1)


def _both(mask: Torch, kept: Torch) -> Torch:
    return mask & kept if mask.dtype is torch.bool else mask.masked_fill(~kept, -math.inf)


class Masks(nn.Module):  # type: ignore[misc]
    """What keeps queries from keys, made once outside the measured time."""

    def __init__(self, call: Call, *, batch: int, queries: int, keys: int, rank: int = 4) -> None:
        super().__init__()
        given = call.arguments()
        kept = band(queries, keys, given["window"], None) if given["window"] else None
        padding = torch.ones(batch, *[1] * (rank - 2), keys, dtype=torch.bool) if given["mask"] else None
        mask = kept & padding if kept is not None and padding is not None else kept
        self.register_buffer("mask", padding if mask is None else mask, persistent=False)
        self.causal = bool(given["causal"]) and kept is None
        self.p = float(given["dropout"])
        self.math_kernel = is_math(call, given["kernel"])

    def forward(self, q: Torch, k: Torch, v: Torch, bias: Torch = None) -> Torch:
        """Attend."""
        mask = self.mask
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        return attend(
            q, k, v, mask=mask, causal=self.causal, p=self.p if self.training else 0.0,
            math_kernel=self.math_kernel,
        )  # fmt: skip


@builds("ScaledDotProductAttention")
def scaled_dot_product(call: Call) -> nn.Module:
    """Build the bare product."""
    query, key = call.inputs[0].shape, call.inputs[1].shape
    return Masks(call, batch=query[0], queries=query[-2], keys=key[-2], rank=len(query))


class Rotary(nn.Module):  # type: ignore[misc]
    """Rotary position embedding of the first features, with tables made once."""

    def __init__(self, length: int, dims: int) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, dims, 2) / dims))
        angles = torch.cat((angles, angles), -1)[:, :dims]
        self.dims = dims
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, x: Torch) -> Torch:
        """Turn the features."""
        turned, length = x[..., : self.dims], x.shape[-2]
        half = self.dims // 2
        swapped = torch.cat((-turned[..., half:], turned[..., :half]), -1)
        out = turned * self.cosine[:length] + swapped * self.sine[:length]
        return out if self.dims == x.shape[-1] else torch.cat((out, x[..., self.dims :]), -1)


@builds("RoPE")
def rope(call: Call) -> nn.Module:
    """Build rotary embedding of a tensor."""
    return Rotary(call.shape[-2], call.arguments()["dim"] or call.shape[-1])


class TorchAttention(nn.Module):  # type: ignore[misc]
    """torch.nn.MultiheadAttention, called without weights as training code does."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        given = call.arguments()
        inputs = call.inputs
        width, kdim, vdim = inputs[0].shape[-1], inputs[len(inputs) // 2].shape[-1], inputs[-1].shape[-1]
        self.layer = nn.MultiheadAttention(
            width, given["num_heads"], dropout=given["dropout"], bias=given["bias"],
            add_bias_kv=given["add_bias_kv"], add_zero_attn=given["add_zero_attn"], kdim=kdim, vdim=vdim,
            batch_first=given["batch_first"],
        )  # fmt: skip
        self.causal = bool(given["causal"])
        length = inputs[0].shape[0 if len(inputs[0].shape) == _UNBATCHED or not given["batch_first"] else 1]
        mask = nn.Transformer.generate_square_subsequent_mask(length) if self.causal else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, *inputs: Torch) -> Torch:
        """Attend."""
        query, key, value = inputs[0], inputs[len(inputs) // 2], inputs[-1]
        out, _ = self.layer(query, key, value, need_weights=False, attn_mask=self.mask, is_causal=self.causal)
        return out


class DirectAttention(Weighted):
    """Multi-head attention as model code writes it: heads are split by views."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        layer = call.layer
        assert isinstance(layer, MultiheadAttention)  # noqa: S101 - the builder's layer type
        self.layer = layer
        first, last = call.inputs[0].shape, call.inputs[-1].shape
        self.time_first = not layer.batch_first and len(first) > _UNBATCHED
        self.depth = layer.head_dim or first[-1] // layer.num_heads
        self.groups = [["qkv"], ["q", "kv"], ["q", "k", "v"]][len(call.inputs) - 1]
        time = 0 if self.time_first or len(first) == _UNBATCHED else 1
        batch = 1 if len(first) == _UNBATCHED else first[1 - time]
        keys = last[time] + layer.add_bias_kv + layer.add_zero_attn
        self.masks = Masks(call, batch=batch, queries=first[time], keys=keys)
        rope_dim = layer.rope_dim or self.depth
        self.rotary = Rotary(max(first[time], keys), rope_dim) if layer.rope else None
        self._positions(first[time], keys)

    def _positions(self, queries: int, keys: int) -> None:
        layer, index, bias = self.layer, None, None
        if layer.position_bias == "relative":
            index = torch.randint(0, layer.num_buckets, (queries * keys,))
        elif layer.position_bias is not None:
            bias = torch.zeros(1, layer.num_heads, queries, keys)
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, *inputs: Torch) -> Torch:
        """Project, split into heads, attend, join, project."""
        batched = [x.unsqueeze(0) if x.dim() == _UNBATCHED else x for x in inputs]
        q, k, v = self._project([x.transpose(0, 1) if self.time_first else x for x in batched])
        if self.layer.qk_norm:
            q, k = self._normalise(q, "q_norm"), self._normalise(k, "k_norm")
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        k, v = self._extend(k, "bias_kv"), self._extend(v, "bias_kv_second")
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        y = self.masks(q, k, v, self._bias(q.shape[2], k.shape[2]))
        y = y.transpose(1, 2)
        y = y.reshape(*y.shape[:2], y.shape[2] * y.shape[3])
        y = F.linear(y, self.held("out_proj.weight"), self.held("out_proj.bias"))
        y = y.transpose(0, 1) if self.time_first else y
        return y.reshape(inputs[0].shape)

    def _project(self, inputs: list[Torch]) -> list[Torch]:
        layer = self.layer
        kv_heads = layer.num_kv_heads or layer.num_heads
        heads = {"q": layer.num_heads, "k": kv_heads, "v": kv_heads}
        sources = dict(zip(self.groups, inputs, strict=True))
        if not layer.packed:
            sources = {name: source for group, source in sources.items() for name in group}
        projected = []
        for group, source in sources.items():
            prefix = "in_proj" if group == "qkv" else f"{group}_proj"
            y = F.linear(source, self.held(f"{prefix}_weight"), self.held(f"{prefix}_bias"))
            parts = y.split([heads[name] * self.depth for name in group], 2)
            projected += [
                part.reshape(*part.shape[:2], heads[name], self.depth)
                for name, part in zip(group, parts, strict=True)
            ]
        return projected

    def _extend(self, x: Torch, name: str) -> Torch:
        batch, heads, _, depth = x.shape
        if self.layer.add_bias_kv:
            learned = self.held(name).view(1, 1, heads, depth).transpose(1, 2)
            x = torch.cat((x, learned.expand(batch, heads, 1, depth)), 2)
        if self.layer.add_zero_attn:
            x = torch.cat((x, x.new_zeros(batch, heads, 1, depth)), 2)
        return x

    def _normalise(self, x: Torch, name: str) -> Torch:
        weight, bias = self.held(f"{name}.weight"), self.held(f"{name}.bias")
        if self.layer.qk_norm == "layer":
            return F.layer_norm(x, x.shape[-1:], weight, bias)
        return F.rms_norm(x, x.shape[-1:], weight)

    def _bias(self, queries: int, keys: int) -> Torch:
        if self.index is None:
            return self.bias
        table = self.held("relative_attention_bias.weight")
        return table[self.index].view(queries, keys, -1).permute(2, 0, 1).unsqueeze(0)


@builds("MultiheadAttention")
def multihead(call: Call) -> nn.Module:
    """Build torch.nn's module where the layer asks for its style and nothing beyond it."""
    given = call.arguments()
    beyond = ("num_kv_heads", "head_dim", "window", "mask", "rope", "qk_norm", "position_bias")
    plain = not any(given[name] for name in beyond) and given["out_bias"] in (None, given["bias"])
    if given["style"] == "torch" and plain and given["packed"] and not is_math(call, given["kernel"]):
        return TorchAttention(call)
    return DirectAttention(call)
