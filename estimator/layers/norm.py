"""Normalisation layers: batch, layer, group, instance and root-mean-square norms, local response norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from estimator.layers.arguments import AnyFloat, Positive, PositiveFloat, Share, Size
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.arithmetic import add, add_scalar, apply, div, mul, mul_scalar, power
from estimator.layers.functional.movement import contiguous, pad, repeat, reshape
from estimator.layers.functional.norms import batch_norm, group_norm, layer_norm, rms_norm
from estimator.layers.functional.pointwise import fork, pointwise
from estimator.layers.functional.pooling import average_pool
from estimator.layers.shapes import images
from estimator.precision import DType
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def affine_weights(tape: Tape, shape: tuple[int, ...], *, weight: bool, bias: bool) -> tuple[Tensor, ...]:
    """Return scale and shift, as far as the layer has them."""
    names = [name for name, wanted in (("weight", weight), ("bias", bias)) if wanted]
    return tuple(tape.weight(name, shape) for name in names)


def check_features(layer: BatchNorm | InstanceNorm | GroupNorm, given: int | None, channels: int) -> None:
    """Refuse a number of channels that contradicts the arguments."""
    argument = "num_channels" if isinstance(layer, GroupNorm) else "num_features"
    if given not in (None, channels):
        raise LayerError(
            f"{layer.type_name}.{argument} is {given} but the input has {channels} channels",
            argument=argument,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNorm(Layer):
    """``(N, C, *) -> (N, C, *)``; in training by the batch's statistics, which are counted and averaged."""

    ranks: ClassVar[tuple[int, ...]]

    num_features: Positive | None = None
    eps: PositiveFloat = 1e-5
    momentum: Share | None = 0.1
    affine: bool = True
    track_running_stats: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Normalise each channel."""
        (x,) = inputs
        if len(x.shape) not in self.ranks:
            raise LayerError(
                f"{self.type_name}: needs an input of {' or '.join(map(str, self.ranks))} dimensions, "
                f"got {list(x.shape)}"
            )
        channels = x.shape[1]
        check_features(self, self.num_features, channels)
        weights = affine_weights(tape, (channels,), weight=self.affine, bias=self.affine)
        if self.track_running_stats and tape.training:
            size = DType.INT64.itemsize  # num_batches_tracked += 1
            pointwise(tape, "add", Phase.FORWARD, read=size, written=size, elements=1, compute=DType.INT64)
        batch_statistics = tape.training or not self.track_running_stats
        return batch_norm(tape, x, weights, channels=channels, batch_statistics=batch_statistics)


@register("BatchNorm1d", Example(((4, 8, 6),)))
class BatchNorm1d(BatchNorm):
    """``(N, C) or (N, C, L)``, normalised by channel."""

    ranks = (2, 3)


@register("BatchNorm2d", Example(((4, 8, 6, 6),)))
class BatchNorm2d(BatchNorm):
    """``(N, C, H, W)``, normalised by channel."""

    ranks = (4,)


@register("BatchNorm3d", Example(((4, 8, 3, 6, 6),)))
class BatchNorm3d(BatchNorm):
    """``(N, C, D, H, W)``, normalised by channel."""

    ranks = (5,)


@register("SyncBatchNorm", Example(((4, 8, 6, 6),)))
class SyncBatchNorm(BatchNorm):
    """``(N, C, *)``, normalised by channel over all devices; their few sums a channel cost no time here."""

    ranks = (2, 3, 4, 5)


@register("FrozenBatchNorm2d", Example(((4, 8, 6, 6),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenBatchNorm2d(Layer):
    """``(N, C, H, W)`` scaled and shifted by constants (torchvision.ops): no parameters, no statistics."""

    num_features: Positive | None = None
    eps: PositiveFloat = 1e-5

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Work the constants out (five small kernels), then multiply and add."""
        (x,) = inputs
        _, channels, _ = images(x, 2, self.type_name)
        if self.num_features not in (None, channels):
            raise LayerError(
                f"FrozenBatchNorm2d.num_features is {self.num_features} "
                f"but the input has {channels} channels",
                argument="num_features",
            )
        constant = tape.new((channels, 1, 1), tape.policy.weights, requires_grad=False)
        scale = mul(tape, constant, apply(tape, add_scalar(tape, constant), "rsqrt"))
        shift = add(tape, constant, mul(tape, constant, scale))
        return add(tape, mul(tape, x, scale), shift)


@register("LayerNorm", Example(((4, 6, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNorm(Layer):
    """``(*, normalized_shape) -> same``; without ``normalized_shape`` the last dimension."""

    normalized_shape: Size | None = None
    eps: PositiveFloat = 1e-5
    elementwise_affine: bool = True
    bias: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Normalise each row."""
        (x,) = inputs
        shape = trailing_shape(self, x, self.normalized_shape)
        affine = self.elementwise_affine
        weights = affine_weights(tape, shape, weight=affine, bias=affine and self.bias)
        size = 1
        for dim in shape:
            size *= dim
        return layer_norm(tape, x, weights, size=size)


def trailing_shape(
    layer: LayerNorm | RMSNorm, x: Tensor, given: int | tuple[int, ...] | None
) -> tuple[int, ...]:
    """Return the shape a row norm works over, checked against the input."""
    shape = x.shape[-1:] if given is None else (given,) if isinstance(given, int) else given
    if not x.shape or x.shape[len(x.shape) - len(shape) :] != shape:
        raise LayerError(
            f"{layer.type_name}.normalized_shape is {list(shape)} but the input is {list(x.shape)}",
            argument="normalized_shape",
        )
    return shape


@register("RMSNorm", Example(((4, 6, 8),)))
@dataclass(frozen=True, slots=True, kw_only=True)
class RMSNorm(Layer):
    """``(*, normalized_shape) -> same``; without ``normalized_shape`` the last dimension."""

    normalized_shape: Size | None = None
    eps: PositiveFloat | None = None
    elementwise_affine: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Divide each row by its root mean square."""
        (x,) = inputs
        shape = trailing_shape(self, x, self.normalized_shape)
        weight = tape.weight("weight", shape) if self.elementwise_affine else None
        rank = len(x.shape)
        return rms_norm(tape, x, weight, dims=tuple(range(rank - len(shape), rank)))


@register("GroupNorm", Example(((4, 8, 6, 6),), {"num_groups": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNorm(Layer):
    """``(N, C, *) -> (N, C, *)``, normalised over each sample's groups of channels.

    ``bias`` false leaves the shift out, as some models do.
    """

    num_groups: Positive
    num_channels: Positive | None = None
    eps: PositiveFloat = 1e-5
    affine: bool = True
    bias: bool = True

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Normalise each group."""
        (x,) = inputs
        if len(x.shape) < 2:  # noqa: PLR2004  (N, C, *)
            raise LayerError(f"GroupNorm: needs an input (batch, channels, *), got {list(x.shape)}")
        channels = x.shape[1]
        check_features(self, self.num_channels, channels)
        if channels % self.num_groups:
            raise LayerError(
                f"GroupNorm: {channels} channels do not divide into {self.num_groups} groups",
                argument="num_groups",
            )
        weights = affine_weights(tape, (channels,), weight=self.affine, bias=self.affine and self.bias)
        return group_norm(tape, x, weights, groups=self.num_groups, batch=x.shape[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceNorm(Layer):
    """``(N, C, *size) -> same``, normalised over each sample's channel; the batch may be missing."""

    dims: ClassVar[int]

    num_features: Positive | None = None
    eps: PositiveFloat = 1e-5
    momentum: Share | None = 0.1
    affine: bool = False
    track_running_stats: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Run a batch norm over batch times channels, as frameworks do; scale and shift are repeated."""
        (x,) = inputs
        n, channels, size = images(x, self.dims, self.type_name)
        check_features(self, self.num_features, channels)
        rows = (n * channels,)
        weights = affine_weights(tape, (channels,), weight=self.affine, bias=self.affine)
        repeated = tuple(repeat(tape, weight, rows) for weight in weights)
        if repeated:
            tape.save(repeated[0])
        flat = tape.view(contiguous(tape, x), (1, *rows, *size))
        batch_statistics = tape.training or not self.track_running_stats
        out = batch_norm(tape, flat, repeated, channels=rows[0], batch_statistics=batch_statistics)
        return tape.view(out, x.shape)


@register("InstanceNorm1d", Example(((4, 8, 6),)))
class InstanceNorm1d(InstanceNorm):
    """``(N, C, L)``, normalised by sample and channel."""

    dims = 1


@register("InstanceNorm2d", Example(((4, 8, 6, 6),)))
class InstanceNorm2d(InstanceNorm):
    """``(N, C, H, W)``, normalised by sample and channel."""

    dims = 2


@register("InstanceNorm3d", Example(((4, 8, 3, 6, 6),)))
class InstanceNorm3d(InstanceNorm):
    """``(N, C, D, H, W)``, normalised by sample and channel."""

    dims = 3


@register("LocalResponseNorm", Example(((4, 8, 6, 6),), {"size": 5}))
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResponseNorm(Layer):
    """``(N, C, *) -> same``: each value divided by a power of its neighbours' squares across channels."""

    size: Positive
    alpha: PositiveFloat = 1e-4
    beta: PositiveFloat = 0.75
    k: AnyFloat = 1.0

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Square, pad the channels, average over them, scale, add, raise and divide: seven kernels."""
        (x,) = inputs
        if len(x.shape) < 3:  # noqa: PLR2004  (N, C, *)
            raise LayerError(f"LocalResponseNorm: needs an input (batch, channels, *), got {list(x.shape)}")
        fork(tape, x, uses=3)
        squares = mul(tape, x, x)
        n, channels = x.shape[:2]
        volume = reshape(
            tape, squares, (n, 1, channels, x.shape[2], squares.numel // (n * channels * x.shape[2]))
        )
        padded = pad(tape, volume, (self.size // 2, 0, 0), ((self.size - 1) // 2, 0, 0))
        average = average_pool(tape, padded, volume.shape[2:], window=self.size, name="avg_pool3d")
        base = add_scalar(tape, mul_scalar(tape, reshape(tape, average, x.shape)))
        return div(tape, x, power(tape, base, self.beta))
