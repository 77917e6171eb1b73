"""Layers that only traced modules need: computed weights, constants, calls that no network file writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import Dim, Offset, Positive, Size, Sizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.movement import expand
from estimator.layers.functional.norms import batch_norm
from estimator.layers.functional.pointwise import (
    broadcast,
    cast,
    combined,
    each_element,
    operand_gradient,
    pointwise,
)
from estimator.layers.functional.products import conv
from estimator.layers.shapes import axis, images, spread
from estimator.layers.strides import explicit, preserved, simplified
from estimator.precision import DType
from estimator.workload.build import traffic
from estimator.workload.kernel import ConvShape, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

_FORMATS = {
    "float64": DType.FP64, "float32": DType.FP32, "float16": DType.FP16, "bfloat16": DType.BF16,
    "int64": DType.INT64, "int32": DType.INT32, "int8": DType.INT8, "uint8": DType.INT8, "bool": DType.BOOL,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionalConvolution(Layer):
    """``(N, C, *size), (K, C / groups, *kernel)[, (K)] -> (N, K, *size')``: the weight is an input.

    For weights that are computed: standardised, or mixed of several.
    """

    dims: ClassVar[int]

    stride: Size = 1
    padding: Offset = 0
    dilation: Size = 1
    groups: Positive = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Convolve."""
        x, weight, *others = inputs
        n, channels, size = images(x, self.dims, self.type_name)
        if len(weight.shape) != self.dims + 2 or weight.shape[1] * self.groups != channels:
            raise LayerError(
                f"{self.type_name}: weight {list(weight.shape)} does not fit input {list(x.shape)}"
            )
        kernel = weight.shape[2:]
        stride, padding, dilation = (
            spread(getattr(self, name), self.dims, name) for name in ("stride", "padding", "dilation")
        )
        size_out = tuple(
            (s + 2 * p - d * (k - 1) - 1) // st + 1
            for s, p, d, k, st in zip(size, padding, dilation, kernel, stride, strict=True)
        )
        if min(size_out) < 1:
            raise LayerError(f"{self.type_name}: kernel {list(kernel)} does not fit input {list(x.shape)}")
        shape = ConvShape(n, channels, weight.shape[0], self.groups, size, size_out, kernel, stride, dilation)
        return conv(tape, x, weight, others[0] if others else None, shape)


@register("FunctionalConv1d", Example(((2, 4, 16), (8, 4, 3))))
class FunctionalConv1d(FunctionalConvolution):
    """``(N, C, L) -> (N, K, L')``."""

    dims = 1


@register("FunctionalConv2d", Example(((2, 4, 8, 8), (8, 4, 3, 3)), {"padding": 1}))
class FunctionalConv2d(FunctionalConvolution):
    """``(N, C, H, W) -> (N, K, H', W')``."""

    dims = 2


@register("FunctionalConv3d", Example(((2, 4, 4, 8, 8), (8, 4, 3, 3, 3)), {"padding": 1}))
class FunctionalConv3d(FunctionalConvolution):
    """``(N, C, D, H, W) -> (N, K, D', H', W')``."""

    dims = 3


@register("FunctionalBatchNorm", Example(((4, 8, 6, 6), (8,), (8,))))
class FunctionalBatchNorm(Layer):
    """``(N, C, *), (C)[, (C)] -> same``: batch norm whose scale (and shift) are inputs."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Normalise."""
        x, *weights = inputs
        if len(x.shape) < 2 or any(w.shape != (x.shape[1],) for w in weights):  # noqa: PLR2004  (N, C)
            raise LayerError(f"FunctionalBatchNorm: scale and shift do not fit {list(x.shape)}")
        return batch_norm(tape, x, weights, channels=x.shape[1], batch_statistics=True)


@register("Constant", Example((), {"shape": (6, 8)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Layer):
    """A tensor that no training changes, the same for all samples: a table of positions, a mask."""

    shape: Sizes
    dtype: Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"] = (
        "float32"
    )

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Give the tensor."""
        del inputs
        return tape.new(self.shape, _FORMATS[self.dtype], requires_grad=False)


@register("PerSample", Example(((1, 6, 8), (4, 5))))
class PerSample(Layer):
    """``(1, *), (N, …) -> (N, *)``: the first input for each sample of the second, a view."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the elements repeatedly."""
        x, samples = inputs
        rest = x.shape[1:] if x.shape[:1] == (1,) else x.shape
        return expand(tape, x, (samples.shape[0], *rest))


@register("Clone", Example(((4, 8),)))
class Clone(Layer):
    """A copy; its gradient passes through."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy."""
        (x,) = inputs
        out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
        tape.emit(
            traffic(
                "clone", Op.ELEMENTWISE, Phase.FORWARD, compute=x.dtype, read=x.bytes, written=x.bytes,
                elements=x.numel, flops_per_element=0,
            )
        )  # fmt: skip
        return out


@register("Detach", Example(((4, 8),)))
class Detach(Layer):
    """The input, to which no gradient flows back."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the input."""
        (x,) = inputs
        out = tape.view(x, x.shape, x.strides)
        return type(out)(out.shape, out.dtype, False, out.storage, out.strides)  # noqa: FBT003 - a field


@register("Cast", Example(((4, 8),), {"dtype": "float16"}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Layer):
    """The input in another number format."""

    dtype: Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool"]

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Convert."""
        (x,) = inputs
        wanted = _FORMATS[self.dtype]
        if x.dtype.is_floating and wanted.is_floating:
            return cast(tape, x, wanted)
        out = tape.new(x.shape, wanted, requires_grad=False, strides=preserved(x.shape, x.strides))
        pointwise(
            tape, "cast", Phase.FORWARD, read=x.bytes, written=out.bytes, elements=x.numel, compute=wanted,
            flops_per_element=0,
        )  # fmt: skip
        return out


@register("MaskedFill", Example(((4, 8), (4, 8))))
class MaskedFill(Layer):
    """The first input, a number where the second (a mask) is set."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Fill; the gradient is filled with zeros."""
        x, mask = inputs
        if broadcast(x.shape, mask.shape, "MaskedFill") != x.shape:
            raise LayerError(f"MaskedFill: a mask {list(mask.shape)} does not fit into {list(x.shape)}")
        out = tape.new(x.shape, x.dtype, requires_grad=x.requires_grad, strides=preserved(x.shape, x.strides))
        for name, phase in (("masked_fill", Phase.FORWARD), ("masked_fill_backward", Phase.DGRAD)):
            if phase is Phase.FORWARD or x.requires_grad:
                pointwise(
                    tape, name, phase, read=x.bytes + mask.bytes, written=x.bytes, elements=x.numel,
                    compute=x.dtype,
                )  # fmt: skip
        if x.requires_grad:
            tape.save(mask)
        return out


@register("Compare", Example(((4, 8),)))
class Compare(Layer):
    """A mask: the input compared with a number, or two inputs with each other."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        first, last = inputs[0], inputs[-1]
        shape = combined(type(tape)(tape.setting), first, last, "compare").shape
        out = tape.new(shape, DType.BOOL, requires_grad=False)
        read = sum(x.bytes for x in inputs)
        pointwise(
            tape, "compare", Phase.FORWARD, read=read, written=out.bytes, elements=out.numel,
            compute=first.dtype,
        )  # fmt: skip
        return out


@register("Addcmul", Example(((8,), (8,), (4, 8))))
class Addcmul(Layer):
    """``a + b * c`` in one kernel, broadcast (torch.addcmul)."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Multiply and add; backward, each factor's gradient is a product with the other."""
        a, b, c = inputs
        scratch = type(tape)(tape.setting)
        like = combined(scratch, combined(scratch, b, c, "addcmul"), a, "addcmul")
        grad = any(x.requires_grad for x in inputs)
        out = tape.new(like.shape, like.dtype, requires_grad=grad, strides=like.strides)
        pointwise(
            tape, "addcmul", Phase.FORWARD, read=sum(x.bytes for x in inputs), written=out.bytes,
            elements=out.numel, compute=out.dtype, flops_per_element=2,
        )  # fmt: skip
        if a.requires_grad:
            operand_gradient(tape, a, out)
        for operand, other in ((b, c), (c, b)):
            if operand.requires_grad:
                tape.save(other)
                pointwise(
                    tape, "mul_backward", Phase.DGRAD, read=out.bytes + other.bytes, written=out.bytes,
                    elements=out.numel, compute=out.dtype,
                )  # fmt: skip
                operand_gradient(tape, operand, out)
        return out


@register("SlidingWindow", Example(((4, 8, 12),), {"dim": 2, "size": 4, "step": 2}))
@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow(Layer):
    """Windows along a dimension as a new last one, a view (torch.Tensor.unfold); gradients are scattered."""

    dim: Dim
    size: Positive
    step: Positive

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look at the windows."""
        (x,) = inputs
        place = axis(self.dim, len(x.shape), self.type_name)
        count = (x.shape[place] - self.size) // self.step + 1
        if count < 1:
            raise LayerError(f"SlidingWindow: {self.size} does not fit {list(x.shape)}", argument="size")
        steps = explicit(x.shape, x.strides)
        shape = (*x.shape[:place], count, *x.shape[place + 1 :], self.size)
        strides = (*steps[:place], steps[place] * self.step, *steps[place + 1 :], steps[place])
        out = tape.view(x, shape, simplified(shape, strides))
        if x.requires_grad:
            tape.emit(
                traffic(
                    "unfold_backward", Op.SCATTER, Phase.DGRAD, compute=x.dtype,
                    read=out.bytes, written=x.bytes, elements=out.numel,
                )
            )  # fmt: skip
        return out


@register("Assign", Example(((4, 8, 6), (4, 3, 6))))
class Assign(Layer):
    """The first input with the second written over a part of it, in place."""

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Copy the part in; backward, its gradient is copied out and zeros are written there."""
        x, part = inputs
        if part.numel > x.numel:
            raise LayerError(f"Assign: {list(part.shape)} does not fit {list(x.shape)}")
        grad = x.requires_grad or part.requires_grad
        tape.emit(
            traffic(
                "assign", Op.COPY, Phase.FORWARD, compute=x.dtype, read=part.bytes, written=part.bytes,
                elements=part.numel, flops_per_element=0,
            )
        )  # fmt: skip
        if x.requires_grad:
            each_element(tape, x, "clone_backward", Phase.DGRAD, flops=0)
            each_element(tape, part, "zero_backward", Phase.DGRAD, reads=0, flops=0)
        return type(x)(x.shape, x.dtype, grad, x.storage, x.strides)
