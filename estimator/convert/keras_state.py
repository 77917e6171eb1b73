"""What a conversion of a Keras model knows while it goes: the entries made, and the table of handlers."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from estimator.convert.entries import Entry, Gap, Source
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.entries import Given
    from estimator.convert.settings import Settings

Args = dict[str, Any]
Shape: TypeAlias = tuple[int, ...]
UNKNOWN = "FLOPs and parameters"  # of a class that no handler takes


@dataclass(slots=True)
class Tensor:
    """Where a value comes from, and its shape without the batch, channels first."""

    source: Source
    shape: Shape


@dataclass(slots=True)
class State:
    """Entries made so far; references count inputs first, of which there are ``count``.

    ``config`` are the settings of the layer at hand.
    """

    inputs: list[Given] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    count: int = 0
    config: Any = None

    @property
    def path(self) -> str:
        """The name of the layer at hand."""
        return str(self.config.get("name") or "")

    def add(self, kind: str, args: Args, inputs: list[Tensor], shape: Shape) -> Tensor:
        """Append an entry. Raises InputError where nothing comes out of it."""
        if any(size < 1 for size in shape):
            raise InputError(f"{self.config.where}: nothing is left: its output would be {list(shape)}")
        sources = tuple(t.source for t in inputs)
        self.entries.append(Entry(type=kind, args=args, inputs=sources, path=self.path))
        return Tensor(Source(self.count + len(self.entries) - 1), shape)

    def custom(self, kind: str, inputs: list[Tensor], shape: Shape) -> Tensor:
        """Append a layer that is not known: one operation for each element that comes out."""
        size = 4 * (sum(prod(t.shape) for t in inputs) + prod(shape))
        args = {"out_shape": list(shape), "flops": prod(shape), "bytes": size}
        self.gaps.append(Gap(self.path, f"{kind} (no layer for it)", 1, prod(shape), size, UNKNOWN))
        return self.add("Custom", args, inputs, shape)


Handler: TypeAlias = "Callable[[State, Settings, list[Tensor]], Tensor]"
HANDLERS: dict[str, Handler] = {}
OWN_ACTIVATION: set[str] = set()  # classes whose handler takes care of 'activation' itself


def handles(*names: str, own_activation: bool = False) -> Callable[[Handler], Handler]:
    """Register Keras classes."""

    def add(function: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = function
        if own_activation:
            OWN_ACTIVATION.update(names)
        return function

    return add


ACTIVATIONS = {
    "relu": "ReLU", "relu6": "ReLU6", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "ELU", "selu": "SELU",
    "gelu": "GELU", "swish": "SiLU", "silu": "SiLU", "softplus": "Softplus", "softsign": "Softsign",
    "hard_sigmoid": "Hardsigmoid", "exponential": "Exp", "leaky_relu": "LeakyReLU", "mish": "Mish",
    "softmax": "Softmax",
}  # fmt: skip
_SEQUENCE = 2  # dimensions of (length, features), which keep their order


def ours(shape: Shape) -> Shape:
    """Return a shape of Keras (channels last) with its channels first; sequences keep their order."""
    return (shape[-1], *shape[:-1]) if len(shape) > _SEQUENCE else shape


def activated(state: State, name: object, value: Tensor) -> Tensor:
    """Append an activation by its name in Keras. Raises InputError for one that is not known."""
    if name in (None, "linear"):
        return value
    if isinstance(name, dict):  # an activation saved as an object
        own = name.get("config")
        name = own if isinstance(own, str) else name.get("class_name", "")
    word = name.lower() if isinstance(name, str) else ""
    if word not in ACTIVATIONS:
        raise InputError(f"{state.config.where}: unknown activation {name!r}")
    args = {"dim": 1} if word == "softmax" and len(value.shape) > _SEQUENCE else {}
    if word == "softmax" and len(value.shape) == _SEQUENCE:
        args = {"dim": 2}
    return state.add(ACTIVATIONS[word], args, [value], value.shape)


def brief(values: Shape) -> int | list[int]:
    """Return one number where all are the same."""
    return values[0] if all(v == values[0] for v in values) else list(values)


def features_place(shape: Shape) -> int:
    """Return where in one of our shapes Keras's last dimension is."""
    return len(shape) - 1 if len(shape) <= _SEQUENCE else 0


def channels_first(state: State, config: Settings, x: Tensor, rank: int) -> Tensor:
    """Return a value of ``rank`` dimensions; a sequence turned so that its features come first."""
    if len(x.shape) != rank:
        raise InputError(f"{config.where}: needs an input of {rank} dimensions, got {list(x.shape)}")
    if rank != _SEQUENCE:
        return x
    return state.add("Transpose", {"dim0": 1, "dim1": 2}, [x], x.shape[::-1])


def channels_last(state: State, x: Tensor) -> Tensor:
    """Return a sequence back in Keras's order; anything else as it is."""
    if len(x.shape) != _SEQUENCE:
        return x
    return state.add("Transpose", {"dim0": 1, "dim1": 2}, [x], x.shape[::-1])
