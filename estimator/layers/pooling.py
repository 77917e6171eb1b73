"""Pooling layers: maxima, averages and norms of windows of a fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import Offset, Positive, PositiveFloat, Size
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.arithmetic import apply, mul, mul_scalar, power
from estimator.layers.functional.pointwise import fork, unary
from estimator.layers.functional.pooling import average_pool, max_pool
from estimator.layers.shapes import images, spread

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLES = {1: ((2, 4, 16),), 2: ((2, 4, 8, 8),), 3: ((2, 4, 4, 8, 8),)}


def windows(
    layer: Layer,
    size: tuple[int, ...],
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[int, ...]:
    """Return the number of windows in each dimension, by PyTorch's rules.

    With ``ceil_mode`` a window that begins in the padding behind the input is left out.
    """
    counts = []
    for s, k, st, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        if 2 * p > k:
            raise LayerError(
                f"{layer.type_name}: padding {p} is more than half the kernel {k}", argument="padding"
            )
        room = s + 2 * p - d * (k - 1) - 1
        count = (room + (st - 1 if ceil_mode else 0)) // st + 1
        if ceil_mode and (count - 1) * st >= s + p:
            count -= 1
        counts.append(count)
    if min(counts) < 1:
        raise LayerError(
            f"{layer.type_name}: kernel {list(kernel)} does not fit an input of {list(size)}",
            argument="kernel_size",
        )
    return tuple(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPool(Layer):
    """``(N, C, *size) -> (N, C, *size')``; with ``return_indices`` a second output of int64 indices."""

    dims: ClassVar[int]

    kernel_size: Size
    stride: Size | None = None
    padding: Offset = 0
    dilation: Size = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Take the largest value of each window."""
        (x,) = inputs
        _, _, size = images(x, self.dims, self.type_name)
        kernel = spread(self.kernel_size, self.dims, "kernel_size")
        size_out = windows(
            self,
            size,
            kernel=kernel,
            stride=kernel if self.stride is None else spread(self.stride, self.dims, "stride"),
            padding=spread(self.padding, self.dims, "padding"),
            dilation=spread(self.dilation, self.dims, "dilation"),
            ceil_mode=self.ceil_mode,
        )
        name = f"max_pool{max(2, self.dims)}d"
        out, indices = max_pool(tape, x, size_out, window=prod(kernel), name=name)
        return (out, indices) if self.return_indices else out


@register("MaxPool1d", Example(_EXAMPLES[1], {"kernel_size": 2}))
class MaxPool1d(MaxPool):
    """Maxima over a length."""

    dims = 1


@register("MaxPool2d", Example(_EXAMPLES[2], {"kernel_size": 3, "stride": 2, "padding": 1}))
class MaxPool2d(MaxPool):
    """Maxima over height and width."""

    dims = 2


@register("MaxPool3d", Example(_EXAMPLES[3], {"kernel_size": 2}))
class MaxPool3d(MaxPool):
    """Maxima over depth, height and width."""

    dims = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AvgPool(Layer):
    """``(N, C, *size) -> (N, C, *size')``."""

    dims: ClassVar[int]

    kernel_size: Size
    stride: Size | None = None
    padding: Offset = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Take the mean of each window."""
        (x,) = inputs
        _, _, size = images(x, self.dims, self.type_name)
        kernel = spread(self.kernel_size, self.dims, "kernel_size")
        size_out = windows(
            self,
            size,
            kernel=kernel,
            stride=kernel if self.stride is None else spread(self.stride, self.dims, "stride"),
            padding=spread(self.padding, self.dims, "padding"),
            dilation=(1,) * self.dims,
            ceil_mode=self.ceil_mode,
        )
        name = f"avg_pool{max(2, self.dims)}d"
        return average_pool(tape, x, size_out, window=prod(kernel), name=name)


@register("AvgPool1d", Example(_EXAMPLES[1], {"kernel_size": 2}))
class AvgPool1d(AvgPool):
    """Means over a length."""

    dims = 1


@register("AvgPool2d", Example(_EXAMPLES[2], {"kernel_size": 2}))
class AvgPool2d(AvgPool):
    """Means over height and width."""

    dims = 2


@register("AvgPool3d", Example(_EXAMPLES[3], {"kernel_size": 2}))
class AvgPool3d(AvgPool):
    """Means over depth, height and width."""

    dims = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LPPool(Layer):
    """``(N, C, *size) -> (N, C, *size')``, the p-norm of each window."""

    dims: ClassVar[int]

    norm_type: PositiveFloat
    kernel_size: Size
    stride: Size | None = None
    ceil_mode: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Raise, average, and take the root of the sum with its sign kept: eight kernels."""
        (x,) = inputs
        _, _, size = images(x, self.dims, self.type_name)
        kernel = spread(self.kernel_size, self.dims, "kernel_size")
        stride = kernel if self.stride is None else spread(self.stride, self.dims, "stride")
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        size_out = windows(
            self, size, kernel=kernel, stride=stride, padding=zeros, dilation=ones, ceil_mode=self.ceil_mode
        )
        name = f"avg_pool{max(2, self.dims)}d"
        average = average_pool(tape, power(tape, x, self.norm_type), size_out, window=prod(kernel), name=name)
        fork(tape, average)
        sign = apply(tape, average, "sign")
        positive = unary(tape, apply(tape, average, "abs"), "relu", saves="output")
        return power(tape, mul_scalar(tape, mul(tape, sign, positive)), 1 / self.norm_type)


@register("LPPool1d", Example(_EXAMPLES[1], {"norm_type": 2, "kernel_size": 3}))
class LPPool1d(LPPool):
    """Norms over a length."""

    dims = 1


@register("LPPool2d", Example(_EXAMPLES[2], {"norm_type": 2, "kernel_size": 3}))
class LPPool2d(LPPool):
    """Norms over height and width."""

    dims = 2


@register("LPPool3d", Example(_EXAMPLES[3], {"norm_type": 2, "kernel_size": 2}))
class LPPool3d(LPPool):
    """Norms over depth, height and width."""

    dims = 3
