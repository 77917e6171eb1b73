"""Layers made of several: squeeze and excitation, gated and expert feed-forward, window attention."""

from __future__ import annotations

import math
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.layers.shapes import spread
from estimator.measure.modules.activation import GATES
from estimator.measure.modules.registry import Weighted, builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_IMAGE = 2  # spatial dimensions
_LARGEST_SCALE = math.log(100.0)  # of Swin v2's cosine attention


class SqueezeExcitation(Weighted):
    """Channels weighted by what two 1x1 convolutions make of their means."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self.activation = GATES[given["activation"]]
        self.gate = torch.sigmoid if given["scale_activation"] == "sigmoid" else F.hardsigmoid

    def forward(self, x: Torch) -> Torch:
        """Weight the channels."""
        gate = x.mean((-2, -1), keepdim=True)
        gate = self.activation(F.conv2d(gate, self.held("fc1.weight"), self.held("fc1.bias")))
        gate = F.conv2d(gate, self.held("fc2.weight"), self.held("fc2.bias"))
        return x * self.gate(gate)


class GatedMLP(Weighted):
    """``down(activation(gate x) * up x)``."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self.activation = GATES[given["activation"]]
        self.packed = bool(given["packed"])

    def forward(self, x: Torch) -> Torch:
        """Gate, multiply, project back."""
        if self.packed:
            gate, up = self._project(x, "gate_up_proj").chunk(2, -1)
        else:
            gate, up = self._project(x, "gate_proj"), self._project(x, "up_proj")
        return self._project(self.activation(gate) * up, "down_proj")

    def _project(self, x: Torch, name: str) -> Torch:
        return F.linear(x, self.held(f"{name}.weight"), self.held(f"{name}.bias"))


class MoE(Weighted):
    """Each token through ``top_k`` experts, one expert after the other, routed evenly."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self.activation = GATES[given["activation"]]
        self.experts, self.top_k, self.gated = given["num_experts"], given["top_k"], given["gated"]
        self.shared = given["shared_features"] is not None
        tokens = prod(call.shape[:-1])
        # Balanced routing, as the layer's record assumes: token t goes to experts t, t + 1, ...
        slots = torch.arange(tokens * self.top_k)
        experts = (slots // self.top_k + slots % self.top_k) % self.experts
        self.register_buffer("order", experts.argsort(), persistent=False)
        counts = [0] * self.experts
        for slot in range(tokens * self.top_k):
            counts[(slot // self.top_k + slot % self.top_k) % self.experts] += 1
        self.counts = counts

    def forward(self, x: Torch) -> Torch:
        """Route, run the experts, add up."""
        tokens = x.reshape(-1, x.shape[-1])
        scores = F.linear(tokens, self.held("gate.weight")).softmax(-1)
        chosen, _ = scores.topk(self.top_k, -1)
        chosen = chosen / chosen.sum(-1, keepdim=True)
        out = torch.zeros_like(tokens)
        weights = chosen.reshape(-1, 1)
        for expert, slots in enumerate(self.order.split(self.counts)):
            rows = slots // self.top_k
            out = out.index_add(0, rows, self._expert(tokens[rows], expert) * weights[slots])
        if self.shared:
            hidden = F.silu(F.linear(tokens, self.held("shared_expert.gate_proj.weight")))
            hidden = hidden * F.linear(tokens, self.held("shared_expert.up_proj.weight"))
            out = out + F.linear(hidden, self.held("shared_expert.down_proj.weight"))
        return out.view(x.shape)

    def _expert(self, rows: Torch, expert: int) -> Torch:
        up = F.linear(rows, self.held("experts.up_proj")[expert])
        if self.gated:
            up = self.activation(F.linear(rows, self.held("experts.gate_proj")[expert])) * up
        else:
            up = self.activation(up)
        return F.linear(up, self.held("experts.down_proj")[expert])


class WindowAttention(Weighted):
    """Attention within windows, as torchvision's Swin transformers run it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.given = call.arguments()
        _, *size, _ = call.shape
        dims = len(size)
        full = spread(self.given["window_size"], dims, "window_size")
        shift = spread(self.given["shift_size"], dims, "shift_size")
        self.shift = tuple(0 if w >= s else h for s, w, h in zip(size, full, shift, strict=True))
        image = dims == _IMAGE
        self.window = full if image else tuple(min(s, w) for s, w in zip(size, full, strict=True))
        points, distances = prod(self.window), prod(2 * w - 1 for w in full)
        self.register_buffer("index", torch.randint(0, distances, (points * points,)), persistent=False)
        places = torch.rand(distances, dims) if self.given["cosine"] else None
        self.register_buffer("places", places, persistent=False)

    def forward(self, x: Torch) -> Torch:
        """Cut into windows, attend, put together."""
        batch, *size, _ = x.shape
        lacking = [-s % w for s, w in zip(size, self.window, strict=True)]
        if any(lacking):
            x = F.pad(x, (0, 0, *chain(*((0, p) for p in reversed(lacking)))))
        padded = x.shape
        dims = [d + 1 for d, s in enumerate(self.shift) if s]
        shifts = [s for s in self.shift if s]
        if dims:
            x = x.roll([-s for s in shifts], dims)
        x = self._windows(x)
        y = self._attend(x, batch, shifted=bool(dims), size=padded[1:-1])
        y = F.linear(y, self.held("proj.weight"), self.held("proj.bias"))
        y = self._merge(F.dropout(y, self.given["dropout"], training=self.training), padded)
        if dims:
            y = y.roll(shifts, dims)
        if any(lacking):
            y = y[(slice(None), *(slice(0, s) for s in size))].contiguous()
        return y

    def _windows(self, x: Torch) -> Torch:
        batch, *size, channels = x.shape
        counts = [s // w for s, w in zip(size, self.window, strict=True)]
        x = x.view(batch, *chain(*zip(counts, self.window, strict=True)), channels)
        dims = len(size)
        order = (0, *range(1, 2 * dims, 2), *range(2, 2 * dims + 1, 2), 2 * dims + 1)
        return x.permute(order).reshape(batch * prod(counts), prod(self.window), channels)

    def _merge(self, x: Torch, shape: Torch) -> Torch:
        batch, *size, channels = shape
        counts = [s // w for s, w in zip(size, self.window, strict=True)]
        dims = len(size)
        x = x.view(batch, *counts, *self.window, channels)
        order = chain(*((1 + d, 1 + dims + d) for d in range(dims)))
        return x.permute(0, *order, 1 + 2 * dims).reshape(shape)

    def _attend(self, x: Torch, batch: int, *, shifted: bool, size: Torch) -> Torch:
        windows, points, channels = x.shape
        heads = self.given["num_heads"]
        qkv = F.linear(x, self.held("qkv.weight"), self.held("qkv.bias"))
        q, k, v = qkv.reshape(windows, points, 3, heads, channels // heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.given["cosine"]:
            scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
            scores = scores * self.held("logit_scale").clamp(max=_LARGEST_SCALE).exp()
        else:
            scores = (q * (channels // heads) ** -0.5) @ k.transpose(-2, -1)
        scores = scores + self._bias(points)
        if shifted:
            mask = self._mask(x, size)
            scores = scores.view(batch, windows // batch, heads, points, points) + mask[:, None]
            scores = scores.view(windows, heads, points, points)
        weights = F.dropout(scores.softmax(-1), self.given["attention_dropout"], training=self.training)
        return (weights @ v).transpose(1, 2).reshape(x.shape)

    def _bias(self, points: int) -> Torch:
        if not self.given["cosine"]:
            table = self.held("relative_position_bias_table")
            return table[self.index].view(points, points, -1).permute(2, 0, 1).contiguous()[None]
        hidden = F.linear(self.places, self.held("cpb_mlp.0.weight"), self.held("cpb_mlp.0.bias"))
        table = F.linear(hidden.relu(), self.held("cpb_mlp.2.weight"))
        bias = table[self.index].view(points, points, -1).permute(2, 0, 1).contiguous()[None]
        return 16 * bias.sigmoid()

    def _mask(self, x: Torch, size: Torch) -> Torch:
        """Keep apart what the shift brought together: made anew at each call, as torchvision does."""
        regions = x.new_zeros((1, *size, 1))
        cuts = [
            (slice(0, s - w), slice(s - w, s - h), slice(s - h, None)) if h else (slice(None),)
            for s, w, h in zip(size, self.window, self.shift, strict=True)
        ]
        for label, part in enumerate(product(*cuts)):
            regions[(slice(None), *part)] = label
        labels = self._windows(regions).squeeze(-1)
        apart = labels[:, None, :] - labels[:, :, None]
        return apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)


BUILT = [builds(kind.__name__)(kind) for kind in (SqueezeExcitation, GatedMLP, MoE, WindowAttention)]
