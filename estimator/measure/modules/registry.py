"""The registry of builders, one a layer type, and what a builder is told about the call it builds for."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn

import estimator.measure.modules
from estimator.errors import MeasurementError
from estimator.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.layers.base import Layer
    from estimator.layers.tape import Record, Setting, Signature
    from estimator.measure.framework import Torch

    Inferred: TypeAlias = Callable[["Call"], Any]
    Builder: TypeAlias = Callable[["Call"], nn.Module]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a layer: its arguments, the shapes it gets (batch first), and what its record says."""

    layer: Layer
    inputs: tuple[Signature, ...]
    record: Record
    setting: Setting

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first input."""
        return self.inputs[0].shape

    def arguments(self) -> dict[str, Torch]:
        """Return the layer's arguments by name."""
        return {f.name: getattr(self.layer, f.name) for f in fields(self.layer)}


BUILDERS: Registry[Builder] = Registry("PyTorch builder")


def builds(*names: str) -> Callable[[Builder], Builder]:
    """Register a builder for layer types."""

    def add(builder: Builder) -> Builder:
        for name in names:
            BUILDERS.add(name, builder)
        return builder

    return add


def native(*names: str, **inferred: Inferred) -> None:
    """Register layer types that torch.nn has under the same name with the same arguments.

    ``inferred`` gives arguments that torch.nn wants to be told and that follow from the inputs.
    """
    for name in names:
        BUILDERS.add(name, partial(_native, inferred=inferred))


def _native(call: Call, inferred: dict[str, Inferred]) -> nn.Module:
    kind = getattr(nn, call.layer.type_name)
    known = set(inspect.signature(kind.__init__).parameters)
    given = {name: value for name, value in call.arguments().items() if name in known}
    return kind(**(given | {name: infer(call) for name, infer in inferred.items()}))


def functions(**by_name: Callable[..., Any]) -> None:
    """Register layer types without weights or arguments that one function is."""
    for name, function in by_name.items():
        BUILDERS.add(name, lambda _call, function=function: Function(function))  # type: ignore[misc]


class Function(nn.Module):  # type: ignore[misc]
    """A function of tensors as a module."""

    def __init__(self, function: Callable[..., Torch]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Torch) -> Torch:
        """Apply the function."""
        return self.function(*inputs)


class Weighted(nn.Module):  # type: ignore[misc]
    """A module whose parameters are the weights that the layer's record lists."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        for weight in call.record.weights:
            name = weight.name if weight.name not in self._names else f"{weight.name}_second"
            attribute = name.replace(".", "__")
            self._names[name] = attribute
            parameter = nn.Parameter(torch.empty(weight.shape))
            initialise(parameter, weight.name)
            self.register_parameter(attribute, parameter)

    def held(self, name: str) -> Torch:
        """Return the weight of that name, None where the layer has none."""
        return getattr(self, self._names[name]) if name in self._names else None


def initialise(parameter: Torch, name: str) -> None:
    """Fill a weight as torch.nn's layers do: uniform within 1 / sqrt(inputs); scales 1, biases 0."""
    with torch.no_grad():
        if "bias" in name.rpartition(".")[2] and parameter.dim() <= 1:
            parameter.zero_()
        elif parameter.dim() <= 1:
            parameter.fill_(1.0)
        else:
            bound = 1 / math.sqrt(max(1, parameter[0].numel()))
            parameter.uniform_(-bound, bound)


@cache
def load_builders() -> None:
    """Import all families: a family is added by adding its file."""
    for module in pkgutil.iter_modules(estimator.measure.modules.__path__):
        importlib.import_module(f"{estimator.measure.modules.__name__}.{module.name}")


def build(call: Call) -> nn.Module:
    """Return the PyTorch module of a layer; MeasurementError where PyTorch refuses its arguments."""
    load_builders()
    name = call.layer.type_name
    if name not in BUILDERS:
        raise MeasurementError(f"no PyTorch module is known for the layer type {name}")
    try:
        return BUILDERS.get(name)(call)
    except (TypeError, ValueError) as error:
        raise MeasurementError(f"PyTorch cannot build {name}: {error}") from error
