"""The kernels of a training step as arrays: each distinct kernel once, with how often it runs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from estimator.precision import HALVES
from estimator.workload.kernel import GROUPED, IN_PLACE, ConvShape, GemmShape, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from estimator.precision import DType
    from estimator.workload.kernel import Kernel
    from estimator.workload.workload import Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

PHASES = tuple(Phase)
BACKWARD = frozenset({Phase.DGRAD, Phase.WGRAD, Phase.RECOMPUTE})
OPTIMIZER_LAYER = -1
UNALIGNED = ".unaligned"
PRODUCT_OPS = frozenset({Op.GEMM, Op.BMM, Op.CONV, Op.GROUPED, Op.DEPTHWISE})
_THIN_CHANNELS = 16
_WINOGRAD_WINDOWS = ((3, 3), (5, 5))  # of cuDNN's two ways, the one with separate kernels takes 5x5, too
_LARGE_WINDOW = 9
_NARROW_GROUP = 48
_FAST_WIDTHS = frozenset({4, 8, 16, 32})
_FAST_GROUPS = 16
_FAST_CHANNELS = 256
_FORWARD = frozenset({Phase.FORWARD, Phase.RECOMPUTE})
_ALIGNED_BYTES = 16  # what a thread loads or stores at once


class Category(NamedTuple):
    """What decides which efficiency a kernel has: its kind, its arithmetic and its phase."""

    kind: str
    dtype: DType
    phase: Phase

    @property
    def stem(self) -> str:
        """The class that ``kind`` is a part of: ``conv`` of ``conv.pointwise``."""
        return self.kind.partition(".")[0]

    @property
    def direction(self) -> str:
        """The pass it belongs to: what is computed again in the backward pass is forward work."""
        return "forward" if self.phase in _FORWARD else "backward"

    def names(self) -> Iterator[str]:
        """Give the names an efficiency of this class may stand under, most specific first."""
        for kind in dict.fromkeys((self.kind.removesuffix(IN_PLACE), self.stem)):
            yield f"{kind}@{self.direction}"
            yield kind


class ProductShape(NamedTuple):
    """A kernel seen as ``batch`` matrix products (m, k) x (k, n); ``groups`` for convolutions.

    ``samples`` are those of a convolution's batch, and ``lowered`` the elements of the matrix that its
    windows make when they are copied out (im2col), 0 for one that needs no copy.
    """

    batch: float = 0.0
    m: float = 0.0
    n: float = 0.0
    k: float = 0.0
    groups: float = 1.0
    winograd: bool = False
    samples: float = 0.0
    lowered: float = 0.0


@dataclass(frozen=True, kw_only=True)
class KernelTable:
    """Columns of length K (distinct kernels); ``runs`` how often each runs in a step.

    ``input_bytes`` are those of the step's whole batch, which the host hands to the device.

    ``layer`` and ``kernel`` (length: calls) say which layer runs which kernel, ``calls`` how often;
    the optimizer's calls have layer ``OPTIMIZER_LAYER``. ``category`` indexes ``categories``.
    """

    categories: tuple[Category, ...]
    category: Ints
    phase: Ints
    runs: Floats
    flops: Floats
    elementwise_flops: Floats
    bytes_read: Floats
    bytes_written: Floats
    weight_bytes: Floats
    elements: Floats
    launches: Floats
    serial_steps: Floats
    batch: Floats
    m: Floats
    n: Floats
    k: Floats
    groups: Floats
    winograd: NDArray[np.bool_]
    samples: Floats
    lowered: Floats
    input_bytes: float
    layer: Ints
    kernel: Ints
    calls: Floats

    @property
    def bytes(self) -> Floats:
        """Traffic in both directions, by kernel."""
        return self.bytes_read + self.bytes_written

    def only(self, phases: Sequence[Phase]) -> KernelTable:
        """Return the table with the kernels of other phases run no times."""
        kept = np.isin(self.phase, [PHASES.index(phase) for phase in phases])
        return replace(
            self, runs=np.where(kept, self.runs, 0.0), calls=np.where(kept[self.kernel], self.calls, 0.0)
        )

    def total(self, per_kernel: Floats) -> float:
        """Sum of a per-kernel figure over the step."""
        return float(self.runs @ per_kernel)

    def by_phase(self, per_kernel: Floats) -> Floats:
        """Sum of a per-kernel figure over the step, by phase in the order of ``PHASES``."""
        return _sum_by(self.phase, self.runs * per_kernel, len(PHASES))

    def by_layer(self, per_kernel: Floats, layers: int, phases: Sequence[Phase]) -> Floats:
        """Sum of a per-kernel figure over each layer (and, last, the optimizer) in the given phases."""
        chosen = np.isin(self.phase[self.kernel], [PHASES.index(phase) for phase in phases])
        weights = np.where(chosen, per_kernel[self.kernel] * self.calls, 0.0)
        return _sum_by(self._slot_of_call(layers), weights, layers + 1)

    def passes_by_layer(self, figures: Floats, layers: int) -> tuple[Floats, Floats]:
        """Sum figures by kernel, ``(B, K)``, over each layer's forward and backward: two of ``(B, layers)``.

        What is computed again in the backward pass is part of it.
        """
        rows, width = len(figures), 3 * (layers + 1)
        slot = self._pass_of_call * (layers + 1) + self._slot_of_call(layers)
        slots = np.arange(rows)[:, None] * width + slot
        weights = figures[:, self.kernel] * self.calls
        sums = _sum_by(slots.ravel(), weights.ravel(), rows * width).reshape(rows, 3, layers + 1)
        return sums[:, 0, :layers], sums[:, 1, :layers]

    def _slot_of_call(self, layers: int) -> Ints:
        """Of each call: its layer, and for the optimizer the place behind the last."""
        return np.where(self.layer == OPTIMIZER_LAYER, layers, self.layer)

    @cached_property
    def _pass_of_call(self) -> Ints:
        """Of each call: 0 for forward, 1 for backward, 2 for the rest."""
        of_phase = np.array([0 if p is Phase.FORWARD else 1 if p in BACKWARD else 2 for p in PHASES])
        return of_phase[self.phase[self.kernel]]

    def between(self, other: KernelTable, share: float) -> KernelTable:
        """Return the table ``share`` of the way to ``other``: work grows linearly with the batch.

        Both must hold the same kernels in the same order, as two lowerings of one network at two batch
        sizes with ``KernelTable.pair`` do; ``share`` may lie outside 0 to 1.
        """
        columns = {
            f.name: getattr(self, f.name) + share * (getattr(other, f.name) - getattr(self, f.name))
            for f in fields(self)
            if f.name in _SCALED
        }
        return replace(self, **columns)


_SCALED = frozenset(
    {"flops", "elementwise_flops", "bytes_read", "bytes_written", "weight_bytes", "elements", "batch", "m",
     "n", "k", "samples", "lowered", "input_bytes"}
)  # fmt: skip


def build_table(workload: Workload) -> KernelTable:
    """Return the kernels of a step, forward and backward ``repeats`` times, the optimizer once."""
    calls = _calls(workload)
    return _table(calls, _distinct(kernel for _, kernel, _ in calls), _input_bytes(workload))


def table_of(kernels: Iterable[Kernel]) -> KernelTable:
    """Return a table of kernels that each run once, all in layer 0."""
    calls = [(0, kernel, 1.0) for kernel in kernels]
    return _table(calls, _distinct(kernel for _, kernel, _ in calls), 0.0)


def build_pair(small: Workload, large: Workload) -> tuple[KernelTable, KernelTable]:
    """Return the tables of one network at two batch sizes with equal rows, for ``KernelTable.between``.

    Raises ValueError when the two workloads do not launch the same kernels one by one.
    """
    first, second = _calls(small), _calls(large)
    if [_slot(call) for call in first] != [_slot(call) for call in second]:
        message = "the two batch sizes launch different kernels"
        raise ValueError(message)
    rows: dict[tuple[Kernel, Kernel], int] = {}
    index = [rows.setdefault((a[1], b[1]), len(rows)) for a, b in zip(first, second, strict=True)]
    return (
        _table(first, ([pair[0] for pair in rows], index), _input_bytes(small)),
        _table(second, ([pair[1] for pair in rows], index), _input_bytes(large)),
    )


def _input_bytes(workload: Workload) -> float:
    return float(workload.input_bytes * workload.repeats)


def _calls(workload: Workload) -> list[tuple[int, Kernel, float]]:
    """Give each call as (layer, kernel, how often)."""
    calls = [
        (index, kernel, float(workload.repeats))
        for index, layer in enumerate(workload.layers)
        for kernel in layer.kernels
    ]
    return calls + [(OPTIMIZER_LAYER, kernel, 1.0) for kernel in workload.optimizer]


def _slot(call: tuple[int, Kernel, float]) -> tuple[int, str, str, str]:
    layer, kernel, _ = call
    return layer, kernel.name, kernel.op, kernel.phase


def _distinct(kernels: Iterable[Kernel]) -> tuple[list[Kernel], list[int]]:
    """Return the distinct kernels, and for each kernel given the index of its equal."""
    by_id: dict[int, int] = {}
    by_value: dict[Kernel, int] = {}
    index = []
    for kernel in kernels:
        row = by_id.get(id(kernel))
        if row is None:
            row = by_value.setdefault(kernel, len(by_value))
            by_id[id(kernel)] = row
        index.append(row)
    return list(by_value), index


def _table(
    calls: Sequence[tuple[int, Kernel, float]],
    rows: tuple[Sequence[Kernel], Sequence[int]],
    input_bytes: float,
) -> KernelTable:
    kernels, index = rows
    row = np.array(index, dtype=np.intp)
    counts = np.array([count for _, _, count in calls])
    categories: dict[Category, int] = {}
    numbers = np.empty((8, len(kernels)))
    shapes = np.empty((7, len(kernels)))
    winograd = np.zeros(len(kernels), dtype=bool)
    category = np.empty(len(kernels), dtype=np.intp)
    phase = np.empty(len(kernels), dtype=np.intp)
    for i, kernel in enumerate(kernels):
        key = Category(kind_of(kernel), kernel.compute, kernel.phase)
        category[i] = categories.setdefault(key, len(categories))
        phase[i] = PHASES.index(kernel.phase)
        numbers[:, i] = (
            kernel.flops * kernel.work_share, kernel.elementwise_flops, kernel.bytes_read,
            kernel.bytes_written, kernel.weight_bytes, kernel.elements, kernel.launches, kernel.serial_steps,
        )  # fmt: skip
        product = product_shape(kernel)
        shapes[:, i] = (*product[:5], product.samples, product.lowered)
        winograd[i] = product.winograd
    return KernelTable(
        categories=tuple(categories), category=category, phase=phase,
        runs=_sum_by(row, counts, len(kernels)),
        flops=numbers[0], elementwise_flops=numbers[1], bytes_read=numbers[2], bytes_written=numbers[3],
        weight_bytes=numbers[4], elements=numbers[5], launches=numbers[6], serial_steps=numbers[7],
        batch=shapes[0], m=shapes[1], n=shapes[2], k=shapes[3], groups=shapes[4], winograd=winograd,
        samples=shapes[5], lowered=shapes[6], input_bytes=input_bytes,
        layer=np.array([layer for layer, _, _ in calls], dtype=np.intp), kernel=row, calls=counts,
    )  # fmt: skip


def _sum_by(slot: Ints, weights: Floats, slots: int) -> Floats:
    return np.bincount(slot, weights=weights, minlength=slots).astype(np.float64)


def kind_of(kernel: Kernel) -> str:
    """Return the class of a kernel: its op, with what decides its speed behind a dot."""
    shape = kernel.shape
    if isinstance(shape, ConvShape):
        return _convolution_kind(kernel.op, shape)
    if shape is not None and kernel.op in {Op.GEMM, Op.BMM} and not _is_aligned(kernel, shape):
        return kernel.op.value + UNALIGNED
    return f"{kernel.op.value}.{kernel.name}"


def _convolution_kind(op: Op, shape: ConvShape) -> str:
    if op is Op.DEPTHWISE:
        return "depthwise.large" if max(shape.kernel) >= _LARGE_WINDOW else "depthwise"
    if op is Op.GROUPED:
        return f"grouped.{_group_class(shape)}"
    if shape.c_in < _THIN_CHANNELS:
        return "conv.thin"
    if prod(shape.kernel) == 1:
        return "conv.pointwise"
    # Of a row, not of an image: those of images run as others do.
    return "conv.dilated" if len(shape.kernel) == 1 and max(shape.dilation) > 1 else "conv"


def _is_aligned(kernel: Kernel, shape: GemmShape) -> bool:
    """Tell whether the rows in memory of a product of halves are whole loads; other formats always are.

    Rows run along k and n; in a gradient of weights, which sums over tokens, along m and n.
    """
    if kernel.compute not in HALVES or kernel.name.startswith(GROUPED):
        return True
    along = (shape.m, shape.n) if kernel.phase is Phase.WGRAD else (shape.k, shape.n)
    return all(size * kernel.compute.itemsize % _ALIGNED_BYTES == 0 for size in along)


def _group_class(shape: ConvShape) -> str:
    """Tell which of cuDNN's ways a grouped convolution takes in channels-last."""
    width_in, width_out = shape.c_in // shape.groups, shape.c_out // shape.groups
    many = shape.groups >= _FAST_GROUPS or shape.c_in >= _FAST_CHANNELS
    if width_in == width_out and width_in in _FAST_WIDTHS and many:
        return "fast"
    return "narrow" if width_in < _NARROW_GROUP else "wide"


def product_shape(kernel: Kernel) -> ProductShape:
    """Return the matrix product a kernel is: itself, or the implicit GEMM of a convolution's pass."""
    shape = kernel.shape
    if isinstance(shape, GemmShape):
        return ProductShape(shape.batch, shape.m, shape.n, shape.k)
    if not isinstance(shape, ConvShape):
        return ProductShape()
    groups = shape.groups
    c_in, c_out = shape.c_in // groups, shape.c_out // groups
    points_in, points_out = shape.n * prod(shape.size_in), shape.n * prod(shape.size_out)
    if shape.transposed:  # its forward pass is the dgrad of the mirrored convolution
        c_in, c_out, points_in, points_out = c_out, c_in, points_out, points_in
    if kernel.phase is Phase.WGRAD:
        m, n = c_out, c_in * prod(shape.kernel)
    elif (kernel.phase is Phase.DGRAD) != shape.transposed:
        m, n = points_in, c_in
    else:
        m, n = points_out, c_out
    k = kernel.flops / (2 * groups * m * n)
    winograd = (
        kernel.op is Op.CONV
        and shape.kernel in _WINOGRAD_WINDOWS
        and set(shape.stride) == {1}
        and set(shape.dilation) == {1}
        and shape.c_in >= _THIN_CHANNELS
        and not shape.transposed
    )
    window = prod(shape.kernel)
    copied = window > 1 or set(shape.stride) != {1}
    lowered = shape.n * prod(shape.size_out) * shape.c_in * window if copied else 0
    return ProductShape(groups, m, n, k, groups, winograd, shape.n, lowered)
