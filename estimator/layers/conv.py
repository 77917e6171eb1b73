"""Convolutions in one, two and three dimensions, and their transposed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import Offset, Positive, Size
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.movement import pad, reshape
from estimator.layers.functional.pointwise import ADDED_GRADIENT, each_element
from estimator.layers.functional.products import conv, matmul
from estimator.layers.shapes import images, spread
from estimator.workload.kernel import ConvShape, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution(Layer):
    """``(N, C, *size) -> (N, out_channels, *size')``; an input without the batch works too."""

    dims: ClassVar[int]

    out_channels: Positive
    kernel_size: Size
    stride: Size = 1
    padding: Offset | Literal["same", "valid"] = 0
    dilation: Size = 1
    groups: Positive = 1
    bias: bool = True
    padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros"
    in_channels: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Convolve."""
        (x,) = inputs
        x, shape = self.geometry(tape, x)
        weight = tape.weight("weight", self.weight_shape(shape))
        bias = tape.weight("bias", (self.out_channels,)) if self.bias else None
        return conv(tape, x, weight, bias, shape)

    def weight_shape(self, shape: ConvShape) -> tuple[int, ...]:
        """Return the shape of the weight, ``(out_channels, in_channels / groups, *kernel_size)``."""
        return (self.out_channels, shape.c_in // self.groups, *shape.kernel)

    def geometry(self, tape: Tape, x: Tensor) -> tuple[Tensor, ConvShape]:
        """Return the input and the convolution; paddings the kernel cannot do itself are a copy before it."""
        n, channels, size = images(x, self.dims, self.type_name)
        check_channels(self, channels)
        kernel, stride, dilation = (
            spread(value, self.dims, name)
            for value, name in (
                (self.kernel_size, "kernel_size"), (self.stride, "stride"), (self.dilation, "dilation")
            )
        )  # fmt: skip
        before, after = self._padding(kernel, stride, dilation)
        zeros = (0,) * self.dims
        if self.padding_mode != "zeros" and any(before + after):
            mirrors = self.padding_mode in ("reflect", "replicate")
            x = pad(tape, x, before, after, name=f"{self.padding_mode}_pad", mirrors=mirrors)
            padding = zeros
        elif before != after:  # the kernel pads both sides alike, a copy adds what one side has more
            more = tuple(a - b for b, a in zip(before, after, strict=True))
            x, padding = pad(tape, x, zeros, more, name="zeros_pad"), before
        else:
            padding = before
        size = x.shape[-self.dims :]
        size_out = tuple(
            (s + 2 * p - d * (k - 1) - 1) // st + 1
            for s, p, d, k, st in zip(size, padding, dilation, kernel, stride, strict=True)
        )
        if min(size_out) < 1:
            raise LayerError(
                f"{self.type_name}: kernel {list(kernel)} does not fit input {list(x.shape)} "
                f"(output would be {list(size_out)})"
            )
        return x, ConvShape(
            n, channels, self.out_channels, self.groups, size, size_out, kernel, stride, dilation
        )

    def _padding(
        self, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the padding before and after each dimension; 'same' pads an odd total more behind."""
        if self.padding == "valid":
            return (0,) * self.dims, (0,) * self.dims
        if self.padding == "same":
            if prod(stride) != 1:
                raise LayerError(f"{self.type_name}: padding 'same' needs stride 1", argument="padding")
            totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
            return tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
        padding = spread(self.padding, self.dims, "padding")
        return padding, padding


def check_channels(layer: Convolution | TransposedConvolution, channels: int) -> None:
    """Refuse channels that contradict the arguments."""
    if layer.in_channels not in (None, channels):
        raise LayerError(
            f"{layer.type_name}.in_channels is {layer.in_channels} but the input has {channels} channels",
            argument="in_channels",
        )
    if channels % layer.groups or layer.out_channels % layer.groups:
        raise LayerError(
            f"{layer.type_name}: in_channels {channels} and out_channels {layer.out_channels} "
            f"must be divisible by groups {layer.groups}",
            argument="groups",
        )


@register("Conv1d", Example(((2, 4, 16),), {"out_channels": 8, "kernel_size": 3}))
class Conv1d(Convolution):
    """``(N, C, L) -> (N, K, L')``."""

    dims = 1


@register("Conv2d", Example(((2, 4, 8, 8),), {"out_channels": 8, "kernel_size": 3, "padding": 1}))
class Conv2d(Convolution):
    """``(N, C, H, W) -> (N, K, H', W')``."""

    dims = 2


@register("Conv3d", Example(((2, 4, 4, 8, 8),), {"out_channels": 8, "kernel_size": 3, "padding": 1}))
class Conv3d(Convolution):
    """``(N, C, D, H, W) -> (N, K, D', H', W')``."""

    dims = 3


@register(
    "CondConv2d", Example(((2, 4, 8, 8), (2, 3)), {"out_channels": 8, "kernel_size": 3, "num_experts": 3})
)
@dataclass(frozen=True, slots=True, kw_only=True)
class CondConv2d(Convolution):
    """``(N, C, H, W), (N, E) -> (N, K, H', W')``: the weights of each sample are a mixture of E experts'.

    Yang et al., "CondConv: Conditionally Parameterized Convolutions for Efficient Inference", 2019. As its
    PyTorch ports do, one grouped convolution runs all samples: each is a part of the channels.
    """

    dims = 2
    num_experts: Positive

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Mix the weights, then convolve sample by sample."""
        x, routing = inputs
        x, shape = self.geometry(tape, x)
        if routing.shape != (shape.n, self.num_experts):
            raise LayerError(
                f"CondConv2d: the second input is {list(routing.shape)}, a weight of each of "
                f"{self.num_experts} experts for each sample is {[shape.n, self.num_experts]}",
                argument="num_experts",
            )
        own = self.weight_shape(shape)
        weight = self._mixed(tape, routing, "weight", own)
        bias = self._mixed(tape, routing, "bias", (self.out_channels,)) if self.bias else None
        if self.bias and routing.requires_grad:
            each_element(tape, routing, ADDED_GRADIENT, Phase.DGRAD, reads=2)
        return sample_by_sample(tape, x, weight, bias, shape)

    def _mixed(self, tape: Tape, routing: Tensor, name: str, own: tuple[int, ...]) -> Tensor:
        """Return each sample's weights behind each other: ``(N own[0], *own[1:])``."""
        experts = tape.weight(name, (self.num_experts, prod(own)))
        mixed = matmul(tape, routing, experts)
        return reshape(tape, mixed, (routing.shape[0] * own[0], *own[1:]))


def sample_by_sample(tape: Tape, x: Tensor, weight: Tensor, bias: Tensor | None, shape: ConvShape) -> Tensor:
    """Convolve each sample of ``shape`` with weights of its own, ``(N K, C / groups, *kernel)``.

    One grouped convolution runs all samples: each is a part of the channels.
    """
    samples = shape.n
    x = reshape(tape, x, (1, samples * shape.c_in, *shape.size_in))
    together = replace(
        shape, n=1, c_in=samples * shape.c_in, c_out=samples * shape.c_out, groups=samples * shape.groups
    )
    out = conv(tape, x, weight, bias, together, channels_first=True)
    return reshape(tape, out, (samples, shape.c_out, *shape.size_out))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransposedConvolution(Layer):
    """``(N, C, *size) -> (N, out_channels, *size')``: the dgrad of a convolution as a forward pass."""

    dims: ClassVar[int]

    out_channels: Positive
    kernel_size: Size
    stride: Size = 1
    padding: Offset = 0
    output_padding: Offset = 0
    dilation: Size = 1
    groups: Positive = 1
    bias: bool = True
    in_channels: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Spread each input point over a window of the output."""
        (x,) = inputs
        n, channels, size = images(x, self.dims, self.type_name)
        check_channels(self, channels)
        names = ("kernel_size", "stride", "padding", "output_padding", "dilation")
        kernel, stride, padding, extra, dilation = (
            spread(getattr(self, name), self.dims, name) for name in names
        )
        size_out = tuple(
            (s - 1) * st - 2 * p + d * (k - 1) + e + 1
            for s, st, p, d, k, e in zip(size, stride, padding, dilation, kernel, extra, strict=True)
        )
        if min(size_out) < 1:
            raise LayerError(
                f"{self.type_name}: padding {list(padding)} leaves nothing of input {list(x.shape)}",
                argument="padding",
            )
        weight = tape.weight("weight", (channels, self.out_channels // self.groups, *kernel))
        bias = tape.weight("bias", (self.out_channels,)) if self.bias else None
        shape = ConvShape(
            n, channels, self.out_channels, self.groups, size, size_out, kernel, stride, dilation,
            transposed=True,
        )  # fmt: skip
        return conv(tape, x, weight, bias, shape)


@register("ConvTranspose1d", Example(((2, 4, 16),), {"out_channels": 8, "kernel_size": 4, "stride": 2}))
class ConvTranspose1d(TransposedConvolution):
    """``(N, C, L) -> (N, K, L')``."""

    dims = 1


@register("ConvTranspose2d", Example(((2, 4, 8, 8),), {"out_channels": 8, "kernel_size": 4, "stride": 2}))
class ConvTranspose2d(TransposedConvolution):
    """``(N, C, H, W) -> (N, K, H', W')``."""

    dims = 2


@register("ConvTranspose3d", Example(((2, 4, 4, 8, 8),), {"out_channels": 8, "kernel_size": 2, "stride": 2}))
class ConvTranspose3d(TransposedConvolution):
    """``(N, C, D, H, W) -> (N, K, D', H', W')``."""

    dims = 3
