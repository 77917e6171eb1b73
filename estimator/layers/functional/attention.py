"""Scaled dot-product attention: with its T x T matrix in memory (math), or fused (flash)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from estimator.layers.base import LayerError
from estimator.layers.functional.movement import contiguous, permute, repeat, reshape, transpose
from estimator.layers.functional.pointwise import cast, dropout, operand_gradient, pointwise, unary
from estimator.layers.functional.products import matmul, product_inputs
from estimator.layers.functional.reductions import softmax
from estimator.layers.strides import preserved
from estimator.precision import HALVES, POLICIES, DType
from estimator.software import AttentionKernel, Mode
from estimator.workload.build import fused_attention, traffic
from estimator.workload.kernel import GemmShape, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

FIRST_FLASH_ERA = 2022  # Dao et al., FlashAttention, arXiv:2205.14135
FIRST_WIDE_MATH_ERA = 2025  # the year after PyTorch 2.5, whose math kernel sums halves in fp32
_BY_HEADS = 4  # dimensions of (batch, heads, length, features)
_RANDOM_STATE_BYTES = 24  # seed and offset that a fused kernel keeps to draw its dropout again


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Which keys a query sees: those up to it (``causal``), the nearest ``window``, and an additive bias.

    ``padding`` is an additive mask that comes with the data; ``bias`` a tensor broadcast over the scores.
    """

    causal: bool = False
    window: int | None = None
    padding: bool = False
    bias: Tensor | None = None

    def keys(self, keys: int) -> int:
        """Keys a query is charged for by convention: all, or the window; causality is not counted off."""
        return keys if self.window is None else min(self.window, keys)

    def pairs(self, queries: int, keys: int) -> int:
        """Pairs of query and key that the mask leaves."""
        if self.causal:
            reach = self.keys(keys)
            full = max(0, queries - reach)  # queries that see all their reach
            partial = queries - full
            return partial * (partial + 1) // 2 + full * reach
        if self.window is None or self.window >= keys:
            return queries * keys
        before = self.window // 2
        after = self.window - 1 - before
        return sum(max(0, min(keys - 1, i + after) - max(0, i - before) + 1) for i in range(queries))


def is_flash(tape: Tape, kernel: AttentionKernel | str | None) -> bool:
    """Tell whether attention is fused: as the layer says, else as the software does, once that existed."""
    software = tape.setting.software
    if kernel is None:
        return software.attention is AttentionKernel.FLASH and software.era >= FIRST_FLASH_ERA
    return AttentionKernel(kernel) is AttentionKernel.FLASH


def attention(
    tape: Tape, q: Tensor, k: Tensor, v: Tensor, *, flash: bool, mask: Mask | None = None, p: float = 0.0
) -> Tensor:
    """Return ``softmax(q k^T / sqrt(D)) v``: ``(N, H, L, D), (N, G, S, D), (N, G, S, V) -> (N, H, L, V)``.

    ``G`` key-value heads are shared by groups of ``H / G`` query heads. Raises LayerError where the shapes
    do not fit.
    """
    check(q, k, v)
    mask = mask or Mask()
    return _flash(tape, q, k, v, mask) if flash else _math(tape, q, k, v, mask, p=p)


def attention_of_any_rank(
    tape: Tape, q: Tensor, k: Tensor, v: Tensor, *, asked_fused: bool, mask: Mask, p: float
) -> Tensor:
    """Return the same of ``(*, L, D), (*, S, D), (*, S, V)``, which no fused kernel of PyTorch takes.

    Where one was asked for (``asked_fused``), the function itself falls back to the math kernel (ATen,
    sdp_utils: "all fused kernels require 4 dimensions"), which works on halves in fp32 since PyTorch 2.5.
    """
    q4, k4, v4 = (_by_heads(tape, each) for each in (q, k, v))
    check(q4, k4, v4)
    if mask.bias is not None:
        mask = replace(mask, bias=_mask_by_heads(tape, mask.bias, len(q.shape)))
    _, out_dtype, (q4, k4, v4) = product_inputs(tape, q4, k4, v4)
    if asked_fused and out_dtype in HALVES and tape.setting.software.era >= FIRST_WIDE_MATH_ERA:
        q4, k4, v4 = (cast(tape, each, DType.FP32) for each in (q4, k4, v4))
        with tape.policy_of(POLICIES.get("fp32")):
            y = _math(tape, q4, k4, v4, mask, p=p)
        y = cast(tape, y, out_dtype)
    else:
        y = _math(tape, q4, k4, v4, mask, p=p)
    return reshape(tape, y, (*q.shape[:-1], v.shape[-1]))


def _by_heads(tape: Tape, x: Tensor) -> Tensor:
    """Return ``(*, L, D)`` as ``(N, H, L, D)``; a copy where the order of memory asks for one."""
    *before, length, features = x.shape
    heads = before[-1] if len(before) > 1 else 1
    return reshape(tape, x, (prod(before) // heads, heads, length, features))


def _mask_by_heads(tape: Tape, bias: Tensor, rank: int) -> Tensor:
    """Return a mask for scores of ``rank`` dimensions as one for four."""
    full = (1,) * (rank - len(bias.shape)) + bias.shape
    heads = full[-3] if rank > _BY_HEADS else 1
    return reshape(tape, bias, (prod(full[:-2]) // heads, heads, *full[-2:]))


def check(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse shapes that attention cannot take."""
    fits = (
        q.shape[0] == k.shape[0] == v.shape[0]
        and k.shape[1:3] == v.shape[1:3]
        and q.shape[3] == k.shape[3]
        and q.shape[1] % k.shape[1] == 0
    )
    if not fits:
        raise LayerError(
            f"attention: query {list(q.shape)}, key {list(k.shape)} and value {list(v.shape)} do not fit; "
            "they are (batch, heads, length, features), with the heads of the query a multiple of the keys'"
        )


def _flash(tape: Tape, q: Tensor, k: Tensor, v: Tensor, mask: Mask) -> Tensor:
    """Run one fused kernel each way; dropout is drawn inside. Kept: q, k, v, the output, row statistics."""
    compute, out_dtype, (q, k, v) = product_inputs(tape, q, k, v)
    batch, heads, queries, depth = q.shape
    keys, value_dim = k.shape[2], v.shape[3]
    grad = q.requires_grad or k.requires_grad or v.requires_grad
    shape = (batch, heads, queries, value_dim)
    out = tape.new(shape, out_dtype, requires_grad=grad, strides=preserved(shape, q.strides))
    bias = mask.bias
    for phase, name in ((Phase.FORWARD, "flash_attention"), (Phase.DGRAD, "flash_attention_backward")):
        if phase is Phase.DGRAD and not out.requires_grad:
            continue
        kernel = fused_attention(
            name, phase, GemmShape(batch * heads, queries, mask.keys(keys), depth), value_dim=value_dim,
            kv_batch=batch * k.shape[1], keys=keys, compute=compute, itemsize=q.dtype.itemsize,
            work_share=mask.pairs(queries, keys) / (queries * mask.keys(keys)),
        )  # fmt: skip
        if bias is not None:
            kernel = replace(kernel, bytes_read=kernel.bytes_read + bias.bytes)
        tape.emit(kernel)
    if out.requires_grad:
        for kept in (q, k, v, out):
            tape.save(kept)
        tape.save_bytes(batch * heads * queries * DType.FP32.itemsize)
        tape.save_bytes(_RANDOM_STATE_BYTES)
        if bias is not None and bias.requires_grad:
            scores = tape.new((batch, heads, queries, keys), out_dtype, requires_grad=True)
            operand_gradient(tape, bias, scores)
    return out


def _math(tape: Tape, q: Tensor, k: Tensor, v: Tensor, mask: Mask, *, p: float) -> Tensor:
    """Run the products and the softmax one by one, as PyTorch's math kernel does.

    Query and key are each multiplied by the root of the scale; kept: both of them, the softmax, the value,
    and under dropout its mask and result. Fused frameworks fold scale and mask into the softmax.
    """
    eager = tape.setting.software.mode is Mode.EAGER
    if k.shape[1] != q.shape[1]:
        k, v = (repeat(tape, t, (*q.shape[:2], *t.shape[2:]), "repeat_heads") for t in (k, v))
    _, _, (q, k, v) = product_inputs(tape, q, k, v)
    if eager:
        q, k = (unary(tape, t, "scale", saves="none") for t in (q, k))
    scores = matmul(tape, q, transpose(tape, k, 2, 3))
    masked = mask.causal or mask.padding or mask.window is not None
    if eager and masked:
        bytes_mask = scores.shape[2] * scores.shape[3] * scores.dtype.itemsize
        pointwise(
            tape, "add_mask", Phase.FORWARD, read=scores.bytes + bytes_mask, written=scores.bytes,
            elements=scores.numel, compute=scores.dtype,
        )  # fmt: skip
    if mask.bias is not None:
        if eager:
            pointwise(
                tape, "add_bias", Phase.FORWARD, read=scores.bytes + mask.bias.bytes, written=scores.bytes,
                elements=scores.numel, compute=scores.dtype,
            )  # fmt: skip
        if mask.bias.requires_grad:
            operand_gradient(tape, mask.bias, scores)
    weights = dropout(tape, softmax(tape, scores), p=p)
    return matmul(tape, weights, v)


def relative_bias(tape: Tape, table: Tensor, queries: int, keys: int) -> Tensor:
    """Return ``(1, H, L, S)`` looked up in a table ``(distances, H)``: a gather and a permuting copy.

    Backward adds the gradient of every pair to its distance.
    """
    heads = table.shape[1]
    out = tape.new((queries * keys, heads), table.dtype, requires_grad=table.requires_grad)
    tape.emit(
        traffic(
            "relative_bias", Op.GATHER, Phase.FORWARD, compute=table.dtype, read=out.bytes,
            written=out.bytes, elements=out.numel, flops_per_element=0,
        )
    )  # fmt: skip
    if out.requires_grad:
        tape.emit(
            traffic(
                "relative_bias_backward", Op.SCATTER, Phase.WGRAD, compute=table.dtype, read=out.bytes,
                written=table.bytes, elements=out.numel,
            )
        )  # fmt: skip
    bias = permute(tape, tape.view(out, (queries, keys, heads)), (2, 0, 1))
    return tape.view(contiguous(tape, bias), (1, heads, queries, keys))
