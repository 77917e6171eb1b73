"""Padding layers: zeros, constants, reflections, repetitions and wrapped edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import AnyFloat, SignedSizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.movement import moved, pad
from estimator.layers.shapes import images
from estimator.workload.kernel import Op

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_EXAMPLES = {1: ((2, 4, 16),), 2: ((2, 4, 8, 8),), 3: ((2, 4, 4, 8, 8),)}


def padded(tape: Tape, x: Tensor, layer: Layer, padding: tuple[int, ...], mode: str) -> Tensor:
    """Pad by ``(left, right, top, bottom, …)``, the last dimension first as in PyTorch."""
    dims = len(padding) // 2
    if len(padding) % 2 or not 0 < dims <= len(x.shape):
        raise LayerError(
            f"{layer.type_name}.padding {list(padding)} needs two numbers for each padded dimension",
            argument="padding",
        )
    before, after = tuple(padding[-2::-2]), tuple(padding[::-2])
    size = x.shape[len(x.shape) - dims :]
    if any(s + b + a < 1 for s, b, a in zip(size, before, after, strict=True)):
        raise LayerError(f"{layer.type_name}: nothing is left of {list(x.shape)}", argument="padding")
    largest = {"reflect": 1, "circular": 0}.get(mode)
    if largest is not None and any(
        max(b, a) > s - largest for s, b, a in zip(size, before, after, strict=True)
    ):
        raise LayerError(
            f"{layer.type_name}: padding {list(padding)} is too wide for {list(x.shape)}", argument="padding"
        )
    if not any(padding):
        return x
    if mode == "circular":
        return _wrapped(tape, x, before, after)
    return pad(tape, x, before, after, name=f"{mode}_pad", mirrors=mode in ("reflect", "replicate"))


def _wrapped(tape: Tape, x: Tensor, before: tuple[int, ...], after: tuple[int, ...]) -> Tensor:
    """Copy the middle, then each edge by a kernel of its own (PyTorch has no fused circular padding)."""
    out = pad(tape, x, before, after, name="circular_pad")
    edge = list(x.shape)
    lead = len(x.shape) - len(before)
    for place, widths in enumerate(zip(before, after, strict=True)):
        for width in widths:
            if width:
                edge[lead + place] = width
                part = tape.view(x, tuple(edge))
                moved(tape, part, part.shape, "circular_edge", Op.COPY)
        edge[lead + place] = out.shape[lead + place]
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding(Layer):
    """``(N, C, *size) -> (N, C, *size')``; one width for all sides, or two for each dimension, last first."""

    dims: ClassVar[int]
    mode: ClassVar[str]

    padding: int | SignedSizes

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Pad."""
        (x,) = inputs
        images(x, self.dims, self.type_name)
        widths = (self.padding,) * (2 * self.dims) if isinstance(self.padding, int) else self.padding
        if len(widths) != 2 * self.dims:
            raise LayerError(
                f"{self.type_name}.padding needs one number or {2 * self.dims}, got {list(widths)}",
                argument="padding",
            )
        return padded(tape, x, self, widths, self.mode)


@register("ZeroPad1d", Example(_EXAMPLES[1], {"padding": 1}))
class ZeroPad1d(Padding):
    """Zeros around a length."""

    dims, mode = 1, "constant"


@register("ZeroPad2d", Example(_EXAMPLES[2], {"padding": (0, 1, 0, 1)}))
class ZeroPad2d(Padding):
    """Zeros around an image."""

    dims, mode = 2, "constant"


@register("ZeroPad3d", Example(_EXAMPLES[3], {"padding": 1}))
class ZeroPad3d(Padding):
    """Zeros around a volume."""

    dims, mode = 3, "constant"


@register("ConstantPad1d", Example(_EXAMPLES[1], {"padding": 1, "value": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPad1d(Padding):
    """A number around a length."""

    dims, mode = 1, "constant"
    value: AnyFloat


@register("ConstantPad2d", Example(_EXAMPLES[2], {"padding": 1, "value": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPad2d(Padding):
    """A number around an image."""

    dims, mode = 2, "constant"
    value: AnyFloat


@register("ConstantPad3d", Example(_EXAMPLES[3], {"padding": 1, "value": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPad3d(Padding):
    """A number around a volume."""

    dims, mode = 3, "constant"
    value: AnyFloat


@register("ReflectionPad1d", Example(_EXAMPLES[1], {"padding": 1}))
class ReflectionPad1d(Padding):
    """A length mirrored at its ends."""

    dims, mode = 1, "reflect"


@register("ReflectionPad2d", Example(_EXAMPLES[2], {"padding": 1}))
class ReflectionPad2d(Padding):
    """An image mirrored at its edges."""

    dims, mode = 2, "reflect"


@register("ReflectionPad3d", Example(_EXAMPLES[3], {"padding": 1}))
class ReflectionPad3d(Padding):
    """A volume mirrored at its faces."""

    dims, mode = 3, "reflect"


@register("ReplicationPad1d", Example(_EXAMPLES[1], {"padding": 1}))
class ReplicationPad1d(Padding):
    """The ends of a length repeated."""

    dims, mode = 1, "replicate"


@register("ReplicationPad2d", Example(_EXAMPLES[2], {"padding": 1}))
class ReplicationPad2d(Padding):
    """The edges of an image repeated."""

    dims, mode = 2, "replicate"


@register("ReplicationPad3d", Example(_EXAMPLES[3], {"padding": 1}))
class ReplicationPad3d(Padding):
    """The faces of a volume repeated."""

    dims, mode = 3, "replicate"


@register("CircularPad1d", Example(_EXAMPLES[1], {"padding": 1}))
class CircularPad1d(Padding):
    """A length continued from its other end."""

    dims, mode = 1, "circular"


@register("CircularPad2d", Example(_EXAMPLES[2], {"padding": 1}))
class CircularPad2d(Padding):
    """An image continued from its other edge."""

    dims, mode = 2, "circular"


@register("CircularPad3d", Example(_EXAMPLES[3], {"padding": 1}))
class CircularPad3d(Padding):
    """A volume continued from its other face."""

    dims, mode = 3, "circular"


@register("Pad", Example(_EXAMPLES[2], {"padding": (0, 1, 0, 1)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Pad(Layer):
    """Any dimensions padded (torch.nn.functional.pad): two widths each, the last dimension first."""

    padding: SignedSizes
    mode: Literal["constant", "reflect", "replicate", "circular"] = "constant"
    value: AnyFloat = 0.0

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Pad."""
        (x,) = inputs
        return padded(tape, x, self, self.padding, self.mode)
