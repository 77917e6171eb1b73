"""Layers of the StyleGAN family: convolutions with weights of each sample's own, filters of fixed taps.

Karras et al., arXiv:1912.04958 (StyleGAN2) and arXiv:2106.12423 (StyleGAN3); what is launched and kept is
what their PyTorch code does, https://github.com/NVlabs/stylegan3, with its fused CUDA kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.arguments import Offset, Positive
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.conv import Convolution, sample_by_sample
from estimator.layers.functional.arithmetic import add_scalar, apply, mul, rsqrt, sub
from estimator.layers.functional.movement import concat, image_order, repeat, reshape
from estimator.layers.functional.pointwise import cast, fork, unary
from estimator.layers.functional.pooling import filtered, resample
from estimator.layers.functional.products import bias_gradient
from estimator.layers.functional.reductions import mean, total
from estimator.layers.shapes import images, spread

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("ModulatedConv2d", Example(((2, 4, 8, 8), (2, 4)), {"out_channels": 8, "kernel_size": 3}))
@dataclass(frozen=True, slots=True, kw_only=True)
class ModulatedConv2d(Convolution):
    """``(N, C, H, W), (N, C) -> (N, K, H', W')``: the weight's input channels scaled by each sample's styles.

    ``demodulate`` divides each sample's weight by its norm over input channels and taps; ``input_gain``
    multiplies by a running magnitude of the input, which is not trained. One grouped convolution runs all
    samples, as in CondConv2d.
    """

    dims = 2
    bias: bool = False
    demodulate: bool = True
    input_gain: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Make the weights, then convolve sample by sample."""
        x, styles = inputs
        x, shape = self.geometry(tape, x)
        if styles.shape != (shape.n, shape.c_in):
            raise LayerError(
                f"ModulatedConv2d: the second input is {list(styles.shape)}, a style of each channel for "
                f"each sample is {[shape.n, shape.c_in]}"
            )
        if self.bias:
            raise LayerError("ModulatedConv2d: the bias is added by the layer after it", argument="bias")
        weight = self._weights(tape, tape.weight("weight", self.weight_shape(shape)), styles)
        weight = reshape(tape, weight, (shape.n * weight.shape[1], *weight.shape[2:]))
        return sample_by_sample(tape, x, weight, None, shape)

    def _weights(self, tape: Tape, weight: Tensor, styles: Tensor) -> Tensor:
        """Return each sample's weight, ``(N, K, C, *kernel)``, made in full precision."""
        styles = cast(tape, styles, weight.dtype)
        if self.demodulate:
            weight = mul(tape, fork(tape, weight), _inverse_size(tape, weight, (1, 2, 3)))
            styles = mul(tape, fork(tape, styles), _inverse_size(tape, styles, ()))
        each = tape.view(styles, (styles.shape[0], 1, styles.shape[1], 1, 1))
        weight = mul(tape, tape.view(weight, (1, *weight.shape)), each)
        if self.demodulate:
            squares = total(tape, apply(tape, fork(tape, weight), "pow"), (2, 3, 4))
            norms = rsqrt(tape, add_scalar(tape, squares))
            weight = mul(tape, weight, tape.view(norms, (*norms.shape, 1, 1, 1)))
        if self.input_gain:
            weight = mul(tape, weight, tape.constant((1, 1, 1, 1, 1)))
        return weight


def _inverse_size(tape: Tape, x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return ``1 / sqrt(mean(x ** 2))`` over ``dims``."""
    return rsqrt(tape, mean(tape, apply(tape, x, "pow"), dims, keepdim=True))


@register(
    "FilteredLeakyReLU",
    Example(((2, 4, 8, 8),), {"out_size": 10, "up": 2, "down": 2, "up_taps": 12, "down_taps": 12}),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredLeakyReLU(Layer):
    """``(N, C, H, W) -> (N, C, *out_size)``: bias, up-sampling filter, leaky ReLU, down-sampling filter.

    One kernel does it all. Of the values between the filters it keeps two bits, sign and clamp, for the
    backward, which is the same kernel with the filters swapped. ``radial``: the second filter is not a
    product of rows and columns.
    """

    out_size: Positive
    up: Positive = 1
    down: Positive = 1
    up_taps: Positive = 1
    down_taps: Positive = 1
    radial: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Filter, activate, filter."""
        (x,) = inputs
        n, channels, _ = images(x, 2, self.type_name)
        x = image_order(tape, x)
        bias = tape.weight("bias", (channels,))
        bias = cast(tape, bias, x.dtype)
        size = (self.out_size, self.out_size)
        lead = x.shape[:-2]
        between = (
            self.out_size * self.down + self.down_taps - self.down
        )  # rows and columns that are activated
        visited = n * channels * self._multiplications(between)
        grad = x.requires_grad or bias.requires_grad
        out = tape.new((*lead, *size), x.dtype, requires_grad=grad)
        signs = n * channels * between * -(-between // 4) if grad else 0
        filtered(tape, "filtered_lrelu", x, (x.bytes + bias.bytes, out.bytes + signs), visited)
        if grad:
            tape.save_bytes(signs)
            filtered(tape, "filtered_lrelu", x, (out.bytes + signs, x.bytes), visited, backward=True)
        if bias.requires_grad:
            bias_gradient(tape, x, bias)
        return out

    def _multiplications(self, between: int) -> int:
        """Return the taps read for one channel: rows then columns, the zeros put in while up-sampling not."""
        up = 2 * between * between * -(-self.up_taps // self.up)
        if self.radial:
            return up + (self.out_size * self.down_taps) ** 2
        return up + self.out_size * (between + self.out_size) * self.down_taps


@register("FIRFilter2d", Example(((2, 4, 8, 8),), {"padding": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class FIRFilter2d(Layer):
    """``(N, C, H, W) -> (N, C, H', W')``: every channel filtered with the same ``taps`` x ``taps`` points.

    ``down`` keeps every so many-th point (upfirdn2d of the StyleGAN code).
    """

    taps: Positive = 4
    down: Positive = 1
    padding: Offset = 0

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Filter."""
        (x,) = inputs
        _, _, size = images(x, 2, self.type_name)
        padding = spread(self.padding, 2, "padding")
        small = tuple((s + 2 * p - self.taps) // self.down + 1 for s, p in zip(size, padding, strict=True))
        if min(small) < 1:
            raise LayerError(f"FIRFilter2d: {self.taps} taps do not fit {list(x.shape)}", argument="taps")
        return resample(tape, x, small, taps=self.taps**2, name="upfirdn2d")


@register("BiasLeakyReLU", Example(((2, 4, 8, 8),)))
class BiasLeakyReLU(Layer):
    """``(N, C, *) -> (N, C, *)``: bias, leaky ReLU, gain and clamp in one kernel, which keeps its output."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Add and activate."""
        (x,) = inputs
        if len(x.shape) < 2:  # noqa: PLR2004  (N, C)
            raise LayerError(f"BiasLeakyReLU: needs an input (batch, channels, ...), got {list(x.shape)}")
        bias = cast(tape, tape.weight("bias", (x.shape[1],)), x.dtype)
        out = unary(tape, x, "bias_act", saves="output", flops_per_element=3)
        if bias.requires_grad:
            bias_gradient(tape, out, bias)
        return out


@register("MinibatchStdDev", Example(((4, 4, 4, 4),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class MinibatchStdDev(Layer):
    """``(N, C, H, W) -> (N, C + 1, H, W)``: a channel with the mean deviation within groups of samples."""

    group_size: Positive = 4

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Measure the spread and put it beside the channels."""
        (x,) = inputs
        n, channels, size = images(x, 2, self.type_name)
        group = min(self.group_size, n)
        if n % group:
            raise LayerError(
                f"MinibatchStdDev: a batch of {n} is no multiple of {group}", argument="group_size"
            )
        fork(tape, x)
        y = reshape(tape, x, (group, n // group, channels, *size))
        y = sub(tape, fork(tape, y), mean(tape, y, (0,), keepdim=True))
        y = mean(tape, apply(tape, y, "pow"), (0,))
        y = apply(tape, add_scalar(tape, y), "sqrt")
        y = mean(tape, y, (1, 2, 3))
        y = repeat(tape, tape.view(y, (n // group, 1, 1, 1)), (n, 1, *size))
        return concat(tape, (x, y), (n, channels + 1, *size), x.dtype, "concat")
