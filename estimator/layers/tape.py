"""A symbolic run of one layer: tensors with shapes and formats, and the kernels and saved tensors they leave.

A layer's forward is written as in a framework, out of the functions in :mod:`estimator.layers.functional`;
each of them puts its forward and backward kernels on the tape and keeps what its backward needs. Nothing
is computed but shapes and counts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.precision import DType, PrecisionPolicy
    from estimator.software import Software
    from estimator.workload.kernel import Kernel


class Tensor(NamedTuple):
    """A value: shape with the batch first, number format, whether a gradient flows to it, and its memory.

    Tensors that share memory (views, in-place results) share ``storage``; inputs have negative ones.
    ``strides`` is None for the usual order in memory (see :mod:`estimator.layers.strides`). A tuple, because
    a long network makes tens of thousands and a frozen dataclass takes more than twice the time.
    """

    shape: tuple[int, ...]
    dtype: DType
    requires_grad: bool
    storage: int
    strides: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Memory of the elements."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter of a layer, stored in the format of the precision policy.

    ``touched``: the elements of a sparse gradient, the only ones that an update changes; None for a dense
    one.
    """

    name: str
    shape: tuple[int, ...]
    trainable: bool = True
    touched: int | None = None

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a layer can know of an input before it runs."""

    shape: tuple[int, ...]
    dtype: DType
    requires_grad: bool
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What decides the kernels besides the layer: number formats, software, training or inference."""

    policy: PrecisionPolicy
    software: Software
    training: bool = True
    trainable: bool = True


@dataclass(frozen=True, slots=True)
class Record:
    """What one call of a layer left: saved memory by storage, its kernels, weights and outputs.

    ``weight_storages`` are those storages that hold parameters: a layer may hand one out as it is. ``sizes``
    are the bytes of the storages made here that outputs look at.
    """

    outputs: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    weights: tuple[Weight, ...]
    saved: tuple[tuple[int, int], ...]
    weight_storages: frozenset[int] = frozenset()
    sizes: tuple[tuple[int, int], ...] = ()


class Tape:
    """Collects kernels, weights and saved tensors of one call."""

    __slots__ = ("_next", "_sizes", "_weight_storages", "kernels", "saved", "setting", "weights")

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.kernels: list[Kernel] = []
        self.weights: list[Weight] = []
        self.saved: dict[int, int] = {}
        self._weight_storages: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._next = 0

    @property
    def policy(self) -> PrecisionPolicy:
        """The number formats in force."""
        return self.setting.policy

    @property
    def training(self) -> bool:
        """Whether a backward pass follows."""
        return self.setting.training

    @contextmanager
    def policy_of(self, policy: PrecisionPolicy) -> Iterator[None]:
        """Put other number formats in force for a while."""
        before = self.setting
        self.setting = replace(before, policy=policy)
        try:
            yield
        finally:
            self.setting = before

    def new(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        *,
        requires_grad: bool,
        strides: tuple[int, ...] | None = None,
    ) -> Tensor:
        """Return a value with memory of its own."""
        self._next += 1
        grad = requires_grad and dtype.is_floating and self.training
        tensor = Tensor(shape, dtype, grad, self._next, strides)
        self._sizes[self._next] = tensor.bytes
        return tensor

    def weight(
        self, name: str, shape: tuple[int, ...], *, trainable: bool = True, touched: int | None = None
    ) -> Tensor:
        """Return a new parameter in the policy's storage format; ``touched`` as in :class:`Weight`."""
        trainable = trainable and self.setting.trainable
        self.weights.append(Weight(name, shape, trainable, touched))
        tensor = self.new(shape, self.policy.weights, requires_grad=trainable)
        self._weight_storages.add(tensor.storage)
        return tensor

    def constant(self, shape: tuple[int, ...]) -> Tensor:
        """Return a buffer of the layer in the policy's storage format: held with the weights, not trained."""
        tensor = self.new(shape, self.policy.weights, requires_grad=False)
        self._weight_storages.add(tensor.storage)
        return tensor

    def view(self, tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Tensor:
        """Return the same memory under another shape."""
        return Tensor(shape, tensor.dtype, tensor.requires_grad, tensor.storage, strides)

    def is_weight(self, tensor: Tensor) -> bool:
        """Tell whether a value is a parameter (or a view of one)."""
        return tensor.storage in self._weight_storages

    def save(self, tensor: Tensor) -> None:
        """Keep a tensor for the backward pass; keeping it twice costs once. Weights are kept anyway.

        A view keeps all the memory it is a view of.
        """
        if self.training and not self.is_weight(tensor):
            held = max(self.saved.get(tensor.storage, 0), tensor.bytes)
            self.saved[tensor.storage] = self._sizes.get(tensor.storage, held)

    def forget(self, tensor: Tensor) -> None:
        """Take back that a tensor is kept: a fused kernel does without it."""
        self.saved.pop(tensor.storage, None)

    def save_bytes(self, count: int) -> None:
        """Keep ``count`` bytes of something that is no tensor of the layer (statistics, masks, indices)."""
        if self.training:
            self._next += 1
            self.saved[self._next] = count

    def emit(self, kernel: Kernel) -> None:
        """Put one kernel on the tape."""
        self.kernels.append(kernel)

    def record(self, outputs: tuple[Tensor, ...]) -> Record:
        """Close the tape."""
        return Record(
            outputs,
            tuple(self.kernels),
            tuple(self.weights),
            tuple(self.saved.items()),
            frozenset(self._weight_storages),
            tuple((t.storage, self._sizes[t.storage]) for t in outputs if t.storage in self._sizes),
        )
