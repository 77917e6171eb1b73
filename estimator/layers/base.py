"""What every layer is: arguments as dataclass fields, one symbolic forward, one example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from estimator.errors import InputError
from estimator.layers.lazy import LazyRegistry
from estimator.layers.tape import Tape, Tensor
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.layers.tape import Record, Setting, Signature
    from estimator.registry import Registry


class LayerError(InputError):
    """A layer cannot take its input or arguments; ``argument`` is the one to blame, if one is."""

    def __init__(self, message: str, *, argument: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.argument = argument


@dataclass(frozen=True, slots=True)
class Example:
    """Arguments and input shapes (batch first) with which a layer works: contract tests run it."""

    shapes: tuple[tuple[int, ...], ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dtype: DType = DType.FP32


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer(ABC):
    """A layer type. Subclasses are frozen dataclasses; their fields are the torch.nn arguments."""

    type_name: ClassVar[str]
    example: ClassVar[Example]

    @abstractmethod
    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Run symbolically on inputs with the batch first, leaving kernels and weights on ``tape``.

        Raises LayerError where shapes or arguments do not fit.
        """


LAYERS: Registry[type[Layer]] = LazyRegistry("layer type")

L = TypeVar("L", bound=type[Layer])


def register(name: str, example: Example) -> Callable[[L], L]:
    """Register a layer class under its torch.nn name."""

    def add(cls: L) -> L:
        cls.type_name = name
        cls.example = example
        LAYERS.add(name, cls)
        return cls

    return add


@lru_cache(maxsize=16384)
def record(layer: Layer, inputs: tuple[Signature, ...], setting: Setting) -> Record:
    """Return what one call of ``layer`` leaves; equal calls (repeated blocks) are recorded once.

    Input ``i`` has storage ``-1 - i`` in the record.
    """
    tape = Tape(setting)
    tensors = tuple(
        Tensor(s.shape, s.dtype, s.requires_grad and setting.training, -1 - i, s.strides)
        for i, s in enumerate(inputs)
    )
    try:
        outputs = layer.forward(tape, *tensors)
    except IndexError:  # a layer looked for a dimension that is not there
        shapes = ", ".join(str(list(s.shape)) for s in inputs)
        raise LayerError(f"{layer.type_name}: does not take an input of shape {shapes}") from None
    return tape.record((outputs,) if isinstance(outputs, Tensor) else outputs)
