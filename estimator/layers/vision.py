"""Image layers that resample (Upsample, GridSample) or rearrange (PixelShuffle, Unfold and the like)."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, prod
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import Offset, Positive, Scale, Size
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.combine import widened
from estimator.layers.functional.movement import contiguous, permute, reshape
from estimator.layers.functional.pointwise import full_precision
from estimator.layers.functional.pooling import grid_sample, resample
from estimator.layers.shapes import images, spread
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_MODES = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,),
    "trilinear": (3,),
}  # fmt: skip
_TAPS = {"linear": 2, "bilinear": 4, "trilinear": 8, "bicubic": 16}  # input points an output point
RESAMPLING_IN_FP32_ERA = 2023  # since PyTorch 2.1 autocast runs it in fp32


@register("Upsample", Example(((2, 4, 8, 8),), {"scale_factor": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Upsample(Layer):
    """``(N, C, *size) -> (N, C, *size')``, to a size or by a factor."""

    size: Size | None = None
    scale_factor: Scale | None = None
    mode: Literal["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"] = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Resample."""
        (x,) = inputs
        dims = len(x.shape) - 2
        if dims not in _MODES[self.mode]:
            raise LayerError(f"Upsample: mode {self.mode} does not take {list(x.shape)}", argument="mode")
        size_out = self._size_out(x.shape[2:])
        if tape.setting.software.era >= RESAMPLING_IN_FP32_ERA:
            x = full_precision(tape, x)
        name = f"upsample_{self.mode}{dims}d" if self.mode.startswith("nearest") else f"upsample_{self.mode}"
        return resample(tape, x, size_out, taps=_TAPS.get(self.mode, 1), name=name)

    def _size_out(self, size: tuple[int, ...]) -> tuple[int, ...]:
        if (self.size is None) == (self.scale_factor is None):
            raise LayerError("Upsample: give either size or scale_factor", argument="size")
        if self.size is not None:
            return spread(self.size, len(size), "size")
        factor = self.scale_factor
        factors = factor if isinstance(factor, tuple) else (factor or 1.0,) * len(size)
        if len(factors) != len(size):
            raise LayerError(
                f"scale_factor needs one number or {len(size)}, got {list(factors)}", argument="scale_factor"
            )
        scaled = tuple(floor(s * f) for s, f in zip(size, factors, strict=True))
        if min(scaled) < 1:
            raise LayerError(f"Upsample: nothing is left of {list(size)}", argument="scale_factor")
        return scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsampling2d(Layer):
    """``(N, C, H, W) -> (N, C, H', W')``: an Upsample of one mode."""

    mode: ClassVar[Literal["nearest", "bilinear"]]

    size: Size | None = None
    scale_factor: Scale | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Resample."""
        (x,) = inputs
        if len(x.shape) != 4:  # noqa: PLR2004  (N, C, H, W)
            raise LayerError(f"{self.type_name}: needs an input (batch, channels, H, W), got {list(x.shape)}")
        return Upsample(size=self.size, scale_factor=self.scale_factor, mode=self.mode).forward(tape, x)


@register("UpsamplingNearest2d", Example(((2, 4, 8, 8),), {"scale_factor": 2}))
class UpsamplingNearest2d(Upsampling2d):
    """Each output point is the nearest input point."""

    mode = "nearest"


@register("UpsamplingBilinear2d", Example(((2, 4, 8, 8),), {"scale_factor": 2}))
class UpsamplingBilinear2d(Upsampling2d):
    """Each output point is a mean of four input points."""

    mode = "bilinear"


@register("GridSample", Example(((2, 4, 8, 8), (2, 6, 5, 2))))
@dataclass(frozen=True, slots=True, kw_only=True)
class GridSample(Layer):
    """``(N, C, *size), (N, *size', dims) -> (N, C, *size')``: the image at points from -1 to 1."""

    mode: Literal["bilinear", "nearest", "bicubic"] = "bilinear"
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros"
    align_corners: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at each point's neighbours."""
        x, grid = widened(tape, inputs)
        dims = len(x.shape) - 2
        if dims not in (2, 3) or (len(grid.shape), grid.shape[0], grid.shape[-1]) != (
            dims + 2,
            x.shape[0],
            dims,
        ):
            raise LayerError(
                f"GridSample: {list(x.shape)} and {list(grid.shape)} are not (N, C, H, W) with points "
                "(N, H', W', 2), nor (N, C, D, H, W) with points (N, D', H', W', 3)"
            )
        if self.mode == "bicubic" and dims != 2:  # noqa: PLR2004
            raise LayerError("GridSample: mode bicubic takes images only", argument="mode")
        taps = {"nearest": 1, "bilinear": 2**dims, "bicubic": _TAPS["bicubic"]}[self.mode]
        return grid_sample(tape, x, grid, taps=taps, name=f"grid_sampler_{dims}d")


@register("PixelShuffle", Example(((2, 8, 4, 4),), {"upscale_factor": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class PixelShuffle(Layer):
    """``(*, C r², H, W) -> (*, C, H r, W r)``."""

    upscale_factor: Positive

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Rearrange, one copy."""
        (x,) = inputs
        r = self.upscale_factor
        *lead, channels, height, width = check_rank(self, x)
        if channels % r**2:
            raise LayerError(
                f"PixelShuffle: {channels} channels do not divide by {r}²", argument="upscale_factor"
            )
        n = len(lead)
        blocks = reshape(tape, x, (*lead, channels // r**2, r, r, height, width))
        order = permute(tape, blocks, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
        return reshape(tape, order, (*lead, channels // r**2, height * r, width * r))


@register("PixelUnshuffle", Example(((2, 4, 8, 8),), {"downscale_factor": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class PixelUnshuffle(Layer):
    """``(*, C, H r, W r) -> (*, C r², H, W)``."""

    downscale_factor: Positive

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Rearrange, one copy."""
        (x,) = inputs
        r = self.downscale_factor
        *lead, channels, height, width = check_rank(self, x)
        if height % r or width % r:
            raise LayerError(
                f"PixelUnshuffle: {height} x {width} does not divide by {r}", argument="downscale_factor"
            )
        n = len(lead)
        blocks = reshape(tape, x, (*lead, channels, height // r, r, width // r, r))
        order = permute(tape, blocks, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
        return reshape(tape, order, (*lead, channels * r**2, height // r, width // r))


def check_rank(layer: Layer, x: Tensor) -> tuple[int, ...]:
    """Return the shape of an image, with or without a batch, or raise LayerError."""
    if len(x.shape) < 3:  # noqa: PLR2004  (C, H, W)
        raise LayerError(f"{layer.type_name}: needs an input (batch, channels, H, W), got {list(x.shape)}")
    return x.shape


@register("ChannelShuffle", Example(((2, 8, 4, 4),), {"groups": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelShuffle(Layer):
    """``(N, C, *) -> same``, the channels of the groups interleaved."""

    groups: Positive

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Rearrange, one copy."""
        (x,) = inputs
        n, channels, *size = check_rank(self, x)
        if channels % self.groups:
            raise LayerError(
                f"ChannelShuffle: {channels} channels do not divide into {self.groups} groups",
                argument="groups",
            )
        grouped = reshape(tape, x, (n, self.groups, channels // self.groups, *size))
        order = permute(tape, grouped, (0, 2, 1, *range(3, len(grouped.shape))))
        return reshape(tape, contiguous(tape, order), x.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Layer):
    """The arguments of Unfold and Fold."""

    kernel_size: Size
    dilation: Size = 1
    padding: Offset = 0
    stride: Size = 1

    def counts(self, size: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Return the kernel and the number of windows on an image of this size."""
        names = ("kernel_size", "dilation", "padding", "stride")
        kernel, dilation, padding, stride = (spread(getattr(self, name), 2, name) for name in names)
        windows = tuple(
            (s + 2 * p - d * (k - 1) - 1) // st + 1
            for s, p, d, k, st in zip(size, padding, dilation, kernel, stride, strict=True)
        )
        if min(windows) < 1:
            raise LayerError(
                f"{self.type_name}: kernel {list(kernel)} does not fit {list(size)}", argument="kernel_size"
            )
        return kernel, prod(windows)


@register("Unfold", Example(((2, 4, 8, 8),), {"kernel_size": 3, "padding": 1}))
class Unfold(Window):
    """``(N, C, H, W) -> (N, C k², windows)``: each window a column."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy windows out, one launch a sample; the gradient is summed back in one."""
        (x,) = inputs
        n, channels, size = images(x, 2, "Unfold")
        kernel, windows = self.counts(size)
        lead = x.shape[: len(x.shape) - 3]
        x = contiguous(tape, x)
        return columns(tape, x, (*lead, channels * prod(kernel), windows), "im2col", "col2im", launches=n)


@register("Fold", Example(((2, 16, 16),), {"output_size": 8, "kernel_size": 2, "stride": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(Window):
    """``(N, C k², windows) -> (N, C, H, W)``: columns summed into their windows."""

    output_size: Size

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Sum windows back."""
        (x,) = inputs
        n, rows, (length,) = images(x, 1, "Fold")
        size = spread(self.output_size, 2, "output_size")
        kernel, windows = self.counts(size)
        if windows != length or rows % prod(kernel):
            raise LayerError(
                f"Fold: {list(x.shape)} is not (batch, channels x {prod(kernel)}, {windows} windows)",
                argument="output_size",
            )
        lead = x.shape[: len(x.shape) - 2]
        x = contiguous(tape, x)
        return columns(tape, x, (*lead, rows // prod(kernel), *size), "col2im", "im2col", launches=n)


def columns(
    tape: Tape, x: Tensor, shape: tuple[int, ...], name: str, backward: str, *, launches: int
) -> Tensor:
    """Return windows as columns or columns as windows; ``im2col`` runs sample by sample."""
    out = tape.new(shape, x.dtype, requires_grad=x.requires_grad)
    for kernel, phase, read, written in (
        (name, Phase.FORWARD, x, out),
        (backward, Phase.DGRAD, out, x),
    ):
        if phase is Phase.FORWARD or out.requires_grad:
            tape.emit(
                traffic(
                    kernel, Op.COPY, phase, compute=x.dtype, read=read.bytes, written=written.bytes,
                    elements=max(x.numel, out.numel), launches=launches if kernel == "im2col" else 1,
                )
            )  # fmt: skip
    return out
