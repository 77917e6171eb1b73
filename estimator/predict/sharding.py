"""A transformer's kernels split over devices that share each layer (tensor parallelism) or the sequence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from estimator.predict.table import PHASES, PRODUCT_OPS
from estimator.workload.kernel import GROUPED, Op, Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.predict.table import KernelTable
    from estimator.workload.workload import Workload

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_PER_HEAD = frozenset({Op.BMM, Op.ATTENTION, Op.SOFTMAX})
_EXPERTS = f"{Op.GEMM.value}.{GROUPED}"
_INNER = 1.5  # an activation this much larger than the residual stream lies inside a block


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The residual stream of a transformer: its size, and how often a block writes to it.

    ``elements`` of one norm's output; ``joins`` the norms of a forward pass less the last: attention and
    feed-forward each end in one sum over the devices that share them.
    """

    elements: float
    joins: float

    @classmethod
    def of(cls, workload: Workload) -> Stream | None:
        """Return the stream of a network with norms, None for one without.

        Layers tell it, not kernels: frameworks without a fused RMSNorm launch none. The usual shape counts:
        norms of queries and keys have another.
        """
        shapes = [layer.output_shape for layer in workload.layers if "Norm" in layer.kind]
        if not shapes:
            return None
        (shape, count), *_ = Counter(shapes).most_common(1)
        return cls(elements=float(prod(shape)), joins=count - 1.0)


def split_tensors(
    table: KernelTable, stream: Stream | None, devices: int, *, sequence_parallel: bool = False
) -> KernelTable:
    """Return the kernels one of ``devices`` runs that share every layer as Megatron does.

    A product is split along its wider feature side (columns going into a block's inner width, rows coming
    out); heads, inner activations, logits and the optimizer are divided; what works on the residual stream
    is not, unless ``sequence_parallel``. Shoeybi et al., Megatron-LM, arXiv:1909.08053.
    """
    if devices <= 1 or stream is None:
        return table
    products = _is_op(table, frozenset({Op.GEMM}))
    heads = _is_op(table, _PER_HEAD)
    weights = _is_op(table, frozenset({Op.OPTIMIZER}))
    inner = ~products & ~heads & (table.elements > _INNER * stream.elements)
    share = np.where(products | heads | weights | inner | sequence_parallel, 1.0 / devices, 1.0)
    wide_n = products & (table.n >= table.k)
    wgrad = table.phase == PHASES.index(Phase.WGRAD)
    split_m = products & wgrad & (table.m > table.n)
    split_n = products & ~split_m & (wide_n | wgrad)
    split_k = products & ~split_m & ~split_n
    return _scaled(
        table, share,
        batch=np.where(heads, np.maximum(1.0, table.batch / devices), table.batch),
        m=np.where(split_m, table.m / devices, table.m),
        n=np.where(split_n, table.n / devices, table.n),
        k=np.where(split_k, table.k / devices, table.k),
    )  # fmt: skip


def split_sequence(table: KernelTable, devices: int) -> KernelTable:
    """Return the kernels one of ``devices`` runs that share every sequence (context parallelism)."""
    if devices <= 1:
        return table
    weights = _is_op(table, frozenset({Op.OPTIMIZER}))
    wgrad = table.phase == PHASES.index(Phase.WGRAD)
    products = _is_op(table, PRODUCT_OPS)
    return _scaled(
        table, np.where(weights, 1.0, 1.0 / devices), batch=table.batch,
        m=np.where(products & ~wgrad, np.maximum(1.0, table.m / devices), table.m), n=table.n,
        k=np.where(products & wgrad, np.maximum(1.0, table.k / devices), table.k),
    )  # fmt: skip


def split_experts(table: KernelTable, devices: int) -> KernelTable:
    """Return the kernels one of ``devices`` runs that share the experts of a mixture.

    Each holds a part of them, and gets the tokens that all devices send these: the products are as large,
    but fewer and taller, and read and write fewer weights.
    """
    if devices <= 1:
        return table
    experts = expert_products(table)
    wgrad = table.phase == PHASES.index(Phase.WGRAD)
    kept = 1.0 / np.minimum(float(devices), np.maximum(table.batch, 1.0))
    unread = np.where(experts & ~wgrad, table.weight_bytes * (1.0 - kept), 0.0)
    return replace(
        table,
        batch=np.where(experts, table.batch * kept, table.batch),
        m=np.where(experts & ~wgrad, table.m / kept, table.m),
        k=np.where(experts & wgrad, table.k / kept, table.k),
        bytes_read=table.bytes_read - unread,
        bytes_written=np.where(experts & wgrad, table.bytes_written * kept, table.bytes_written),
        weight_bytes=table.weight_bytes - unread,
    )


def expert_products(table: KernelTable) -> Flags:
    """Tell the grouped products of a mixture's experts."""
    kinds = [category.kind.startswith(_EXPERTS) for category in table.categories]
    return np.array(kinds, dtype=bool)[table.category]


def _scaled(
    table: KernelTable, share: Floats, *, batch: Floats, m: Floats, n: Floats, k: Floats
) -> KernelTable:
    return replace(
        table,
        flops=table.flops * share,
        elementwise_flops=table.elementwise_flops * share,
        bytes_read=table.bytes_read * share,
        bytes_written=table.bytes_written * share,
        weight_bytes=table.weight_bytes * share,
        elements=table.elements * share,
        batch=batch,
        m=m,
        n=n,
        k=k,
    )


def _is_op(table: KernelTable, ops: frozenset[Op]) -> Flags:
    flags = [category.stem in ops for category in table.categories]
    return np.array(flags, dtype=bool)[table.category]
