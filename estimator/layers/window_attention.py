"""Attention within the windows of an image or video (Swin transformers)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.activation import ReLU, Sigmoid
from estimator.layers.arguments import Offset, Positive, Share, Size
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.arithmetic import add, apply, clamp, div, mul, mul_scalar
from estimator.layers.functional.attention import relative_bias
from estimator.layers.functional.movement import contiguous, narrow, pad, permute, reshape, select, transpose
from estimator.layers.functional.pointwise import dropout, fork
from estimator.layers.functional.products import linear, matmul
from estimator.layers.functional.reductions import softmax, vector_norm
from estimator.layers.functional.windows import merge, partition, roll, shift_mask
from estimator.layers.shapes import spread

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_IMAGE = 2  # spatial dimensions
_BIAS_NETWORK = 512  # hidden width of the network that makes Swin v2's position bias


@register("WindowAttention", Example(((2, 8, 8, 16),), {"num_heads": 4, "window_size": 4}))
@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAttention(Layer):
    """``(N, H, W, C) -> (N, H, W, C)``, or with a time before H; channels last, as in torchvision's Swin.

    The input is padded to whole windows, rolled by ``shift_size`` (not where one window covers it), and
    each window attends to itself with a learned relative position bias. ``cosine`` is Swin v2: normalised
    queries and keys, a learned scale, and a bias made by a small network.
    """

    num_heads: Positive
    window_size: Size
    shift_size: Offset = 0
    qkv_bias: bool = True
    proj_bias: bool = True
    attention_dropout: Share = 0.0
    dropout: Share = 0.0
    cosine: bool = False
    dim: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Cut into windows, attend, put together."""
        (x,) = inputs
        self._check(x)
        batch, *size, channels = x.shape
        full, window, shift = self._windows(tuple(size))
        lacking = tuple(-s % w for s, w in zip(size, window, strict=True))
        if any(lacking):
            x = pad(tape, x, (0,) * (len(size) + 1), (*lacking, 0))
        padded, shifted = x.shape, sum(1 for s in shift if s)
        x = partition(tape, roll(tape, x, shifted), window)
        q, k, v = self._project(tape, x)
        scores = self._scores(tape, q, k)
        scores = add(tape, scores, self._bias(tape, full, window))
        if shifted:
            mask = shift_mask(tape, x.shape[0] // batch, x.shape[1])
            split = (batch, *mask.shape[:1], *scores.shape[1:])
            masked = add(tape, tape.view(scores, split), mask)
            scores = tape.view(masked, scores.shape)
        weights = dropout(tape, softmax(tape, scores), p=self.attention_dropout)
        y = reshape(tape, transpose(tape, matmul(tape, weights, v), 1, 2), x.shape)
        bias = tape.weight("proj.bias", (channels,)) if self.proj_bias else None
        y = linear(tape, y, tape.weight("proj.weight", (channels, channels)), bias)
        y = merge(tape, dropout(tape, y, p=self.dropout), padded, window)
        y = roll(tape, y, shifted)
        for dim, (length, missing) in enumerate(zip(size, lacking, strict=True), start=1):
            y = narrow(tape, y, dim, length) if missing else y
        return contiguous(tape, y) if any(lacking) else y

    def _check(self, x: Tensor) -> None:
        if len(x.shape) not in (_IMAGE + 2, _IMAGE + 3):
            raise LayerError(f"WindowAttention: needs (batch, *size, channels), got {list(x.shape)}")
        if self.dim not in (None, x.shape[-1]):
            raise LayerError(
                f"WindowAttention.dim is {self.dim} but the input has {x.shape[-1]} channels", argument="dim"
            )
        if x.shape[-1] % self.num_heads:
            raise LayerError(
                f"WindowAttention: {x.shape[-1]} channels cannot be split into {self.num_heads} heads",
                argument="num_heads",
            )

    def _windows(self, size: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the window as given, as used, and the shift.

        Where one window covers a dimension there is no shift; videos use a smaller window there, images
        are padded.
        """
        full = spread(self.window_size, len(size), "window_size")
        shift = spread(self.shift_size, len(size), "shift_size")
        shift = tuple(0 if w >= s else h for s, w, h in zip(size, full, shift, strict=True))
        if len(size) == _IMAGE:
            return full, full, shift
        return full, tuple(min(s, w) for s, w in zip(size, full, strict=True)), shift

    def _project(self, tape: Tape, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value ``(windows, heads, points, depth)``, selected from one product."""
        windows, points, channels = x.shape
        bias = tape.weight("qkv.bias", (3 * channels,)) if self.qkv_bias else None
        y = linear(tape, x, tape.weight("qkv.weight", (3 * channels, channels)), bias)
        y = reshape(tape, y, (windows, points, 3, self.num_heads, channels // self.num_heads))
        y = fork(tape, permute(tape, y, (2, 0, 3, 1, 4)), 3)
        return select(tape, y, 0), select(tape, y, 0), select(tape, y, 0)

    def _scores(self, tape: Tape, q: Tensor, k: Tensor) -> Tensor:
        if not self.cosine:
            return matmul(tape, apply(tape, q, "mul_scalar"), transpose(tape, k, 2, 3))
        q, k = normalised(tape, q), normalised(tape, k)
        scores = matmul(tape, q, transpose(tape, k, 2, 3))
        scale = tape.weight("logit_scale", (self.num_heads, 1, 1))
        return mul(tape, scores, apply(tape, clamp(tape, scale), "exp"))

    def _bias(self, tape: Tape, full: tuple[int, ...], window: tuple[int, ...]) -> Tensor:
        """Return the bias ``(1, heads, points, points)``, from a table or (Swin v2) a network's output."""
        distances, points = prod(2 * w - 1 for w in full), prod(window)
        if not self.cosine:
            table = tape.weight("relative_position_bias_table", (distances, self.num_heads))
            return relative_bias(tape, table, points, points)
        places = tape.constant((distances, len(full)))
        first = tape.weight("cpb_mlp.0.weight", (_BIAS_NETWORK, len(full)))
        hidden = linear(tape, places, first, tape.weight("cpb_mlp.0.bias", (_BIAS_NETWORK,)))
        second = tape.weight("cpb_mlp.2.weight", (self.num_heads, _BIAS_NETWORK))
        table = linear(tape, ReLU(inplace=True).forward(tape, hidden), second)
        bias = relative_bias(tape, table, points, points)
        return mul_scalar(tape, Sigmoid().forward(tape, bias))


def normalised(tape: Tape, x: Tensor) -> Tensor:
    """Return rows of length 1 (torch.nn.functional.normalize)."""
    fork(tape, x)
    return div(tape, x, clamp(tape, vector_norm(tape, x, (len(x.shape) - 1,), keepdim=True)))
