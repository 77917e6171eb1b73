"""Constructors of kernels: compulsory traffic from shapes, one function a kernel class.

Both ways to a kernel list, our layers and a traced framework module, end here, so that the same work is
the same record.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.workload.kernel import Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.precision import DType
    from estimator.workload.kernel import ConvShape, GemmShape


def product(
    name: str,
    phase: Phase,
    shape: GemmShape,
    *,
    compute: DType,
    itemsize: int,
    out_itemsize: int | None = None,
    weight: str | None = None,
    bias_bytes: int = 0,
) -> Kernel:
    """Return the kernel of ``batch`` products (m, k) x (k, n); ``weight`` names the operand that is one.

    ``weight`` is "a" for the (m, k) operand, "b" for the (k, n) one, "out" for a weight gradient (the
    result is then a parameter's), None for a product of two activations.
    """
    a, b, out = shape.m * shape.k, shape.k * shape.n, shape.m * shape.n
    read = shape.batch * (a + b) * itemsize + bias_bytes
    weight_elements = {"a": a, "b": b}.get(weight or "", 0) * shape.batch
    return Kernel(
        name=name,
        op=Op.BMM if weight is None else Op.GEMM,
        phase=phase,
        compute=compute,
        flops=shape.flops,
        bytes_read=read,
        bytes_written=shape.batch * out * (out_itemsize or itemsize),
        weight_bytes=weight_elements * itemsize + bias_bytes,
        elements=shape.batch * out,
        shape=shape,
    )


def convolution_class(shape: ConvShape) -> Op:
    """Tell dense, grouped and depth-wise convolutions apart: they are different kernels."""
    if shape.groups == 1:
        return Op.CONV
    return Op.DEPTHWISE if shape.groups == shape.c_in else Op.GROUPED


def convolution(name: str, phase: Phase, shape: ConvShape, *, compute: DType, itemsize: int) -> Kernel:
    """Return one pass of a convolution; forward, dgrad and wgrad read two of (input, weight, output)."""
    inputs = shape.n * shape.c_in * prod(shape.size_in) * itemsize
    outputs = shape.n * shape.c_out * prod(shape.size_out) * itemsize
    weights = shape.c_in * shape.c_out // shape.groups * prod(shape.kernel) * itemsize
    read, written = {
        Phase.FORWARD: (inputs + weights, outputs),
        Phase.DGRAD: (outputs + weights, inputs),
        Phase.WGRAD: (inputs + outputs, weights),
    }[phase]
    return Kernel(
        name=name,
        op=convolution_class(shape),
        phase=phase,
        compute=compute,
        flops=shape.flops,
        bytes_read=read,
        bytes_written=written,
        weight_bytes=0 if phase is Phase.WGRAD else weights,
        elements=written // itemsize,
        shape=shape,
    )


def traffic(
    name: str,
    op: Op,
    phase: Phase,
    *,
    compute: DType,
    read: int,
    written: int,
    elements: int,
    flops_per_element: int = 1,
    launches: int = 1,
    weight_bytes: int = 0,
) -> Kernel:
    """Return a kernel without products: it moves ``read`` and ``written`` bytes and visits ``elements``."""
    return Kernel(
        name=name,
        op=op,
        phase=phase,
        compute=compute,
        elementwise_flops=elements * flops_per_element,
        bytes_read=read,
        bytes_written=written,
        weight_bytes=weight_bytes,
        elements=elements,
        launches=launches,
    )


def fused_attention(
    name: str,
    phase: Phase,
    scores: GemmShape,
    *,
    value_dim: int,
    kv_batch: int,
    keys: int,
    compute: DType,
    itemsize: int,
    work_share: float = 1.0,
) -> Kernel:
    """Return a fused (flash) attention kernel, whose T x T matrix never goes to memory.

    ``scores`` is the first product, (batch * heads) times (L, D) x (D, S); ``kv_batch`` is batch times
    key-value heads, ``keys`` their length in memory (longer than S under a window). Forward makes two
    products; backward makes five, as it computes the scores again: Dao et al., FlashAttention,
    arXiv:2205.14135. Statistics are one fp32 number a row.
    """
    rows, depth = scores.batch * scores.m, scores.k
    queries, outputs, statistics = rows * depth * itemsize, rows * value_dim * itemsize, rows * 4
    keys_values = kv_batch * keys * (depth + value_dim) * itemsize
    products_qk, products_v = (1, 1) if phase is Phase.FORWARD else (3, 2)
    if phase is Phase.FORWARD:
        read, written = queries + keys_values, outputs + statistics
    else:
        read, written = queries + keys_values + 2 * outputs + statistics, queries + keys_values
    return Kernel(
        name=name,
        op=Op.ATTENTION,
        phase=phase,
        compute=compute,
        flops=2 * rows * scores.n * (products_qk * depth + products_v * value_dim),
        elementwise_flops=5 * rows * scores.n,
        bytes_read=read,
        bytes_written=written,
        elements=rows * scores.n,
        shape=scores,
        work_share=work_share,
    )
