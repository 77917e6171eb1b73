"""Layers that drop values at random in training and do nothing in inference; Identity, which never does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import Share
from estimator.layers.base import Example, Layer, register
from estimator.layers.functional.dropping import alpha_dropout, feature_dropout
from estimator.layers.functional.pointwise import dropout
from estimator.layers.shapes import images

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("Dropout", Example(((4, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class Dropout(Layer):
    """Values set to 0 one by one; ``(*) -> (*)``."""

    p: Share = 0.5
    inplace: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Drop."""
        (x,) = inputs
        return dropout(tape, x, p=self.p)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureDropout(Layer):
    """Whole channels set to 0; ``(N, C, *size) -> same``, the batch may be missing."""

    dims: ClassVar[int]

    p: Share = 0.5
    inplace: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Drop."""
        (x,) = inputs
        images(x, self.dims, self.type_name)
        kept = len(x.shape) - self.dims
        return feature_dropout(tape, x, p=self.p, mask_shape=x.shape[:kept] + (1,) * self.dims)


@register("Dropout1d", Example(((4, 8, 6),)))
class Dropout1d(FeatureDropout):
    """Channels of ``(N, C, L)`` set to 0."""

    dims = 1


@register("Dropout2d", Example(((4, 8, 6, 6),)))
class Dropout2d(FeatureDropout):
    """Channels of ``(N, C, H, W)`` set to 0."""

    dims = 2


@register("Dropout3d", Example(((4, 8, 3, 6, 6),)))
class Dropout3d(FeatureDropout):
    """Channels of ``(N, C, D, H, W)`` set to 0."""

    dims = 3


@register("AlphaDropout", Example(((4, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaDropout(Layer):
    """Values dropped so that mean and variance stay (for SELU)."""

    p: Share = 0.5
    inplace: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Drop."""
        (x,) = inputs
        return alpha_dropout(tape, x, p=self.p)


@register("FeatureAlphaDropout", Example(((4, 8, 6, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureAlphaDropout(Layer):
    """Channels dropped so that mean and variance stay (for SELU)."""

    p: Share = 0.5
    inplace: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Drop."""
        (x,) = inputs
        kept = min(2, len(x.shape))
        return alpha_dropout(tape, x, p=self.p, mask_shape=x.shape[:kept] + (1,) * (len(x.shape) - kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDropout(Layer):
    """Whole samples of a residual branch set to 0; ``(N, *) -> same``."""

    p: Share = 0.0
    mode: Literal["batch", "row"] = "row"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Drop."""
        (x,) = inputs
        rows = x.shape[0] if self.mode == "row" and x.shape else 1
        return feature_dropout(tape, x, p=self.p, mask_shape=(rows,) + (1,) * (len(x.shape) - 1))


@register("StochasticDepth", Example(((4, 8, 6, 6),), {"p": 0.2}))
class StochasticDepth(SampleDropout):
    """torchvision's name for dropped residual branches."""


@register("DropPath", Example(((4, 8, 6, 6),), {"p": 0.2}))
class DropPath(SampleDropout):
    """timm's name for dropped residual branches."""


@register("Identity", Example(((4, 8),)))
class Identity(Layer):
    """The input itself."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Pass the input on."""
        del tape
        (x,) = inputs
        return x
