"""Products of a mixture of experts: each token multiplied by the weights of the expert it is sent to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.layers.functional.products import product_inputs
from estimator.workload.build import product
from estimator.workload.kernel import GROUPED, GemmShape, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.layers.tape import Tape, Tensor


def grouped_linear(tape: Tape, x: Tensor, weight: Tensor) -> Tensor:
    """Return ``(M, K), (experts, N, K) -> (M, N)``, in one grouped kernel each way (equal shares)."""
    compute, out_dtype, (x, weight) = product_inputs(tape, x, weight)
    (rows, k), (experts, n, _) = x.shape, weight.shape
    out = tape.new((rows, n), out_dtype, requires_grad=x.requires_grad or weight.requires_grad)
    each = -(-rows // experts)
    passes = [(f"{GROUPED}linear", Phase.FORWARD, GemmShape(experts, each, n, k), x, weight, out)]
    if x.requires_grad:
        tape.save(weight)
        passes.append((f"{GROUPED}dgrad", Phase.DGRAD, GemmShape(experts, each, k, n), out, weight, x))
    if weight.requires_grad:
        tape.save(x)
        passes.append((f"{GROUPED}wgrad", Phase.WGRAD, GemmShape(experts, n, k, each), out, x, weight))
    for name, phase, shape, a, b, result in passes:
        kernel = product(
            name, phase, shape, compute=compute, itemsize=x.dtype.itemsize,
            weight="out" if phase is Phase.WGRAD else "b",
        )  # fmt: skip
        tape.emit(
            replace(kernel, flops=2 * rows * n * k, bytes_read=a.bytes + b.bytes, bytes_written=result.bytes)
        )
    return out


def for_each_expert(tape: Tape, rows: int, experts: int, run: Callable[[int], None]) -> None:
    """Run what one expert does with its share of ``rows`` for each expert that gets any.

    Shares are equal or differ by one row; equal shares are run once and repeated, kernels and memory.
    """
    share, more = divmod(rows, experts)
    for size, count in ((share + 1, more), (share, experts - more)):
        if size == 0 or count == 0:
            continue
        start, held = len(tape.kernels), sum(tape.saved.values())
        run(size)
        kernels, kept = tape.kernels[start:], sum(tape.saved.values()) - held
        for _ in range(count - 1):
            tape.kernels.extend(kernels)
        if kept and count > 1:
            tape.save_bytes(kept * (count - 1))
