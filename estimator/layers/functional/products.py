"""Matrix products and convolutions: the functions whose FLOPs are the headline."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.base import LayerError
from estimator.layers.functional.movement import contiguous, flattened, image_order, in_channels_last
from estimator.layers.functional.pointwise import broadcast, cast, operand_gradient
from estimator.layers.strides import channels_last, is_channels_last, viewed
from estimator.precision import DType
from estimator.software import Layout
from estimator.workload.build import convolution, product, traffic
from estimator.workload.kernel import GemmShape, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor
    from estimator.workload.kernel import ConvShape

_MATRIX = 2  # dimensions of one
_TENSOR_CORE = frozenset({DType.FP16, DType.BF16, DType.TF32, DType.FP8})


def storage_format(compute: DType) -> DType:
    """Return the format in which operands of such a product lie in memory."""
    return DType.FP32 if compute is DType.TF32 else compute


def product_inputs(tape: Tape, *tensors: Tensor) -> tuple[DType, DType, tuple[Tensor, ...]]:
    """Cast operands to the policy's product format: returns arithmetic, output format and operands.

    Without autocast (and without FP8 products) operands keep their own format; fp32 operands multiply in
    TF32 where the policy says so.
    """
    policy = tape.policy
    if policy.product is DType.FP8:
        return _fp8_inputs(tape, tensors)
    stored = storage_format(policy.product)
    operands = tuple(cast(tape, t, stored) for t in tensors)
    return policy.product, policy.activations, operands


def _fp8_inputs(tape: Tape, tensors: tuple[Tensor, ...]) -> tuple[DType, DType, tuple[Tensor, ...]]:
    """Quantise the operands of a product with a weight; products of activations stay in their format.

    As Transformer Engine does, weights are quantised once an update, whatever the number of passes.
    """
    out = tape.policy.activations
    if not any(tape.is_weight(tensor) for tensor in tensors):
        return out, out, tuple(cast(tape, tensor, out) for tensor in tensors)
    operands = tuple(
        _quantised(tape, tensor) if tape.is_weight(tensor) else cast(tape, tensor, DType.FP8)
        for tensor in tensors
    )
    return DType.FP8, out, operands


def _quantised(tape: Tape, weight: Tensor) -> Tensor:
    """Return the FP8 copy of a weight; inference made it before it began."""
    copy = tape.new(weight.shape, DType.FP8, requires_grad=weight.requires_grad)
    if tape.training:
        tape.emit(
            traffic(
                "quantize_weight", Op.ELEMENTWISE, Phase.OPTIMIZER, compute=DType.FP8, read=weight.bytes,
                written=copy.bytes, elements=weight.numel, flops_per_element=0,
            )
        )  # fmt: skip
    return copy


def linear(tape: Tape, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x W^T + b``: ``(*, K), (N, K) -> (*, N)``; the bias rides on the product's epilogue.

    Of an input in another order of memory with more than two dimensions PyTorch adds the bias by a kernel
    of its own (ATen, Linear.cpp).
    """
    compute, out_dtype, (x, weight) = product_inputs(tape, x, weight)
    apart = bias is not None and x.strides is not None and len(x.shape) > _MATRIX
    x = flattened(tape, x)
    if bias is not None:
        bias = cast(tape, bias, out_dtype)
    n, k = weight.shape
    m = x.numel // k if k else 0
    size = x.dtype.itemsize
    grad = x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    out = tape.new((*x.shape[:-1], n), out_dtype, requires_grad=grad)
    tape.emit(
        product(
            "linear", Phase.FORWARD, GemmShape(1, m, n, k), compute=compute, itemsize=size,
            out_itemsize=out_dtype.itemsize, weight="b", bias_bytes=bias.bytes if bias and not apart else 0,
        )
    )  # fmt: skip
    if bias is not None and apart:
        add_bias(tape, out, bias)
    if x.requires_grad:
        tape.save(weight)  # a copy in another format, or computed; parameters are kept anyway
        tape.emit(
            product(
                "linear_dgrad", Phase.DGRAD, GemmShape(1, m, k, n), compute=compute, itemsize=size, weight="b"
            )
        )
    if weight.requires_grad:
        tape.save(x)
        tape.emit(
            product(
                "linear_wgrad",
                Phase.WGRAD,
                GemmShape(1, n, k, m),
                compute=compute,
                itemsize=size,
                weight="out",
            )
        )
    if bias is not None and bias.requires_grad:
        bias_gradient(tape, out, bias)
    return out


def add_bias(tape: Tape, out: Tensor, bias: Tensor) -> None:
    """Add a bias to a product by a kernel of its own, in place."""
    tape.emit(
        traffic(
            "bias", Op.ELEMENTWISE, Phase.FORWARD, compute=out.dtype, read=out.bytes + bias.bytes,
            written=out.bytes, elements=out.numel,
        )
    )  # fmt: skip


def bias_gradient(tape: Tape, out: Tensor, bias: Tensor) -> None:
    """Sum the output's gradient over everything but the bias."""
    tape.emit(
        traffic(
            "bias_wgrad", Op.REDUCTION, Phase.WGRAD, compute=out.dtype, read=out.bytes,
            written=bias.bytes, elements=out.numel,
        )
    )  # fmt: skip


def matmul(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    """Return the product of two activations: ``(*, M, K), (*, K, N) -> (*, M, N)``, vectors as in PyTorch.

    Leading dimensions broadcast; a matrix on the right is multiplied in one product.
    """
    rows, columns = len(a.shape) == 1, len(b.shape) == 1
    a = tape.view(a, (1, *a.shape)) if rows else a
    b = tape.view(b, (*b.shape, 1)) if columns else b
    if a.shape[-1] != b.shape[-2]:
        raise LayerError(f"MatMul: inner sizes of {list(a.shape)} and {list(b.shape)} do not match")
    compute, out_dtype, (a, b) = product_inputs(tape, a, b)
    lead = broadcast(a.shape[:-2], b.shape[:-2], "MatMul")
    (m, k), n, batch, size = a.shape[-2:], b.shape[-1], prod(lead), a.dtype.itemsize
    if len(b.shape) == _MATRIX:
        a = flattened(tape, a)
        batch, m = 1, batch * m
    else:
        a, b = (_stacked(tape, t, batch) for t in (a, b))
    out = tape.new((*lead, a.shape[-2], n), out_dtype, requires_grad=a.requires_grad or b.requires_grad)
    name, op = ("mm", Op.GEMM) if len(b.shape) == _MATRIX else ("bmm", Op.BMM)

    def multiplied(phase: Phase, shape: GemmShape, left: Tensor, right: Tensor) -> None:
        suffix = "" if phase is Phase.FORWARD else "_dgrad"
        kernel = product(name + suffix, phase, shape, compute=compute, itemsize=size)
        tape.emit(replace(kernel, op=op, bytes_read=left.bytes + right.bytes))

    multiplied(Phase.FORWARD, GemmShape(batch, m, n, k), a, b)
    if a.requires_grad:
        tape.save(b)
        multiplied(Phase.DGRAD, GemmShape(batch, m, k, n), out, b)
        operand_gradient(tape, a, tape.view(a, (*lead, *a.shape[-2:])))
    if b.requires_grad:
        tape.save(a)
        multiplied(Phase.DGRAD, GemmShape(batch, k, n, m), out, a)
        if len(b.shape) > _MATRIX:
            operand_gradient(tape, b, tape.view(b, (*lead, *b.shape[-2:])))
    shape = lead + (() if rows else (out.shape[-2],)) + (() if columns else (n,))
    return tape.view(out, shape)


def _stacked(tape: Tape, x: Tensor, batch: int) -> Tensor:
    """Return ``(*, M, K)`` in memory that a batched product takes as ``(batch, M, K)``: itself, or a copy."""
    lead = prod(x.shape[:-2])
    free, _ = viewed(x.shape, x.strides, (lead, *x.shape[-2:]))
    return x if free or lead != batch else contiguous(tape, x)


def conv(
    tape: Tape,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    shape: ConvShape,
    *,
    channels_first: bool = False,
) -> Tensor:
    """Return a convolution of ``x`` with ``weight``; the bias is a kernel of its own, as in eager frameworks.

    Tensor-core kernels work channels-last: in channels-first memory each pass of a dense or grouped one
    is wrapped in transposes of its input and output. ``channels_first``: the weight was computed, and lies
    so whatever ``software.layout`` says of parameters.
    """
    compute, out_dtype, (x, weight) = product_inputs(tape, x, weight)
    grad = x.requires_grad or weight.requires_grad
    batched = len(x.shape) == len(shape.size_in) + 2
    out_shape = (*((shape.n,) if batched else ()), shape.c_out, *shape.size_out)
    # A kernel works channels-last where the weights do (software.layout) or the input lies so already.
    last = (
        batched
        and channels_last(out_shape) is not None
        and not channels_first
        and (tape.setting.software.layout is Layout.CHANNELS_LAST or is_channels_last(x.shape, x.strides))
    )
    x = in_channels_last(tape, x) if last else image_order(tape, x)
    out = tape.new(
        out_shape, out_dtype, requires_grad=grad, strides=channels_last(out_shape) if last else None
    )
    name = f"conv{len(shape.kernel)}d" if not shape.transposed else f"conv_transpose{len(shape.kernel)}d"
    passes = [Phase.FORWARD]
    if x.requires_grad:
        passes.append(Phase.DGRAD)
        tape.save(weight)  # a copy in another format, or computed; parameters are kept anyway
    if weight.requires_grad:
        tape.save(x)
        passes.append(Phase.WGRAD)
    for phase in passes:
        kernel = convolution(name, phase, shape, compute=compute, itemsize=x.dtype.itemsize)
        if compute in _TENSOR_CORE and kernel.op is not Op.DEPTHWISE and not last:
            transposes(tape, phase, x, out)
        tape.emit(kernel if phase is Phase.FORWARD else replace(kernel, name=f"{name}_{phase.value}"))
    if bias is not None:
        bias = cast(tape, bias, out_dtype)
        add_bias(tape, out, bias)
        if bias.requires_grad:
            bias_gradient(tape, out, bias)
    return out


def transposes(tape: Tape, phase: Phase, x: Tensor, out: Tensor) -> None:
    """Put the layout changes of one pass on the tape: input and output, read and written once each."""
    for tensor in (x, out):
        tape.emit(
            traffic(
                "layout_transpose", Op.TRANSPOSE, phase, compute=tensor.dtype, read=tensor.bytes,
                written=tensor.bytes, elements=tensor.numel, flops_per_element=0,
            )
        )  # fmt: skip
