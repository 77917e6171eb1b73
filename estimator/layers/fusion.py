"""What a compiler makes of a list of kernels: neighbours that work element by element become one.

The rule is that of compilers for neural networks (XLA, TorchInductor) reduced to its effect on traffic: a
chain of element-wise kernels reads its inputs once and writes its result once, and so does a chain behind a
normalisation or in front of a reduction. A product stays a kernel of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.workload.kernel import Kernel

_UNROLLED = 8  # TorchInductor's unroll_reductions_threshold
_NORMS = frozenset({Op.BATCH_NORM, Op.LAYER_NORM, Op.GROUP_NORM, Op.SOFTMAX})


def fused(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Return the kernels of one layer after fusion, forward first."""
    (result,) = fused_layers([kernels], [False])
    return result


def fused_layers(
    layers: Sequence[Sequence[Kernel]], follows: Sequence[bool]
) -> tuple[tuple[Kernel, ...], ...]:
    """Return the kernels of each layer after fusion; a merged kernel stays with the first layer of its chain.

    ``follows[i]`` says that layer i takes the output of layer i - 1, which nothing else takes: only then
    can its first kernels join those of the layer before.
    """
    result: list[list[Kernel]] = [[] for _ in layers]
    for phases in ((Phase.FORWARD,), tuple(phase for phase in Phase if phase is not Phase.FORWARD)):
        last: tuple[int, int] | None = None  # layer and place of the kernel that the next one may join
        for index, kernels in enumerate(layers):
            if not follows[index]:
                last = None
            for kernel in kernels:
                if kernel.phase not in phases:
                    continue
                one = _unrolled(kernel)
                merged = None if last is None else _merged(result[last[0]][last[1]], one)
                if last is not None and merged is not None:
                    result[last[0]][last[1]] = merged
                else:
                    result[index].append(one)
                    last = index, len(result[index]) - 1
    return tuple(tuple(kernels) for kernels in result)


def _unrolled(kernel: Kernel) -> Kernel:
    """Return a reduction of few elements each as what it becomes: element-wise code without a loop."""
    few = kernel.op is Op.REDUCTION and kernel.bytes_read <= _UNROLLED * kernel.bytes_written
    return replace(kernel, op=Op.ELEMENTWISE) if few else kernel


def _merged(first: Kernel, second: Kernel) -> Kernel | None:
    """Return two neighbours as one kernel, or None where they stay apart.

    What lies between them is neither written nor read. Backward kernels stand in the order of the forward,
    so there it may be either one's result.
    """
    if first.phase is not second.phase or first.elements != second.elements:
        return None
    ops = {first.op, second.op}
    if Op.ELEMENTWISE not in ops or not ops <= _NORMS | {Op.ELEMENTWISE, Op.REDUCTION}:
        return None
    if first.phase is Phase.FORWARD and first.op is not Op.REDUCTION and second.op not in _NORMS:
        between = first.bytes_written
    elif first.phase is not Phase.FORWARD and Op.REDUCTION not in ops:
        between = min(first.bytes_written, second.bytes_written)
    else:
        return None
    if not between or between > (second if first.phase is Phase.FORWARD else first).bytes_read:
        return None
    kept = second if first.op is Op.ELEMENTWISE and second.op is not Op.ELEMENTWISE else first
    return replace(
        kept,
        name="fused" if ops == {Op.ELEMENTWISE} else kept.name,
        elementwise_flops=first.elementwise_flops + second.elementwise_flops,
        flops=first.flops + second.flops,
        bytes_read=first.bytes_read + second.bytes_read - between,
        bytes_written=first.bytes_written + second.bytes_written - between,
        weight_bytes=first.weight_bytes + second.weight_bytes,
        launches=max(first.launches, second.launches),
    )
