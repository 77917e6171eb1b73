"""Pooling to a stated output size: windows are fitted to the input."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import OptionalSize
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.pooling import average_pool, max_pool, window_size
from estimator.layers.functional.reductions import mean
from estimator.layers.shapes import images

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLES = {1: ((2, 4, 16),), 2: ((2, 4, 8, 8),), 3: ((2, 4, 4, 8, 8),)}


def adapted(layer: AdaptivePool, size: tuple[int, ...]) -> tuple[int, ...]:
    """Return the output size of an adaptive pooling; None keeps a dimension."""
    wanted = layer.output_size
    if wanted is None or isinstance(wanted, int):
        wanted = (wanted,) * layer.dims
    if len(wanted) != layer.dims:
        raise LayerError(
            f"output_size needs one number or {layer.dims}, got {list(wanted)}", argument="output_size"
        )
    return tuple(s if w is None else w for s, w in zip(size, wanted, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptivePool(Layer):
    """``(N, C, *size) -> (N, C, *output_size)``, windows fitted to the input."""

    dims: ClassVar[int]

    output_size: OptionalSize


class AdaptiveAvgPool(AdaptivePool):
    """Means of windows fitted to the input."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Take the mean of each window; to a single point it is an ordinary mean, which keeps nothing."""
        (x,) = inputs
        _, _, size = images(x, self.dims, self.type_name)
        size_out = adapted(self, size)
        if prod(size_out) == 1:
            rank = len(x.shape)
            return mean(tape, x, tuple(range(rank - self.dims, rank)), keepdim=True)
        name = f"adaptive_avg_pool{max(2, self.dims)}d"
        return average_pool(tape, x, size_out, window=window_size(size, size_out), name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveMaxPool(AdaptivePool):
    """Maxima of windows fitted to the input; with ``return_indices`` a second output."""

    return_indices: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Take the largest value of each window."""
        (x,) = inputs
        _, _, size = images(x, self.dims, self.type_name)
        size_out = adapted(self, size)
        name = f"adaptive_max_pool{max(2, self.dims)}d"
        out, indices = max_pool(tape, x, size_out, window=window_size(size, size_out), name=name)
        return (out, indices) if self.return_indices else out


@register("AdaptiveAvgPool1d", Example(_EXAMPLES[1], {"output_size": 4}))
class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """Means over a length."""

    dims = 1


@register("AdaptiveAvgPool2d", Example(_EXAMPLES[2], {"output_size": 1}))
class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """Means over height and width."""

    dims = 2


@register("AdaptiveAvgPool3d", Example(_EXAMPLES[3], {"output_size": (1, None, 2)}))
class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """Means over depth, height and width."""

    dims = 3


@register("AdaptiveMaxPool1d", Example(_EXAMPLES[1], {"output_size": 4}))
class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """Maxima over a length."""

    dims = 1


@register("AdaptiveMaxPool2d", Example(_EXAMPLES[2], {"output_size": 3}))
class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """Maxima over height and width."""

    dims = 2


@register("AdaptiveMaxPool3d", Example(_EXAMPLES[3], {"output_size": 2}))
class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """Maxima over depth, height and width."""

    dims = 3
