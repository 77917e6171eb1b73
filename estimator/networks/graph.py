"""A network as a graph: inputs, layer calls in order, and which output feeds which call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.errors import Location
    from estimator.layers.base import Layer


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the network: its shape without the batch."""

    name: str
    shape: tuple[int, ...]
    dtype: DType = DType.FP32


@dataclass(frozen=True, slots=True)
class Reference:
    """One output of a node (or of an input): ``node`` counts inputs first, then nodes in order."""

    node: int
    output: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One call of one layer.

    ``shares`` is the index among the nodes of an earlier call of the same layer (its weights count once);
    ``tied`` the index of another node whose weight this layer's ``weight`` is. ``places`` says where each
    argument stands in the user's text; ``training_only`` marks auxiliary heads; ``times`` is how often the
    call is made, each on what the one before left (the steps of a decoder); ``hint`` is what to do where the
    inputs do not fit and the layer itself has no advice.
    """

    path: str
    layer: Layer
    inputs: tuple[Reference, ...]
    shares: int | None = None
    tied: int | None = None
    trainable: bool = True
    training_only: bool = False
    times: int = 1
    at: Location | None = None
    places: Mapping[str, Location] = field(default_factory=dict)
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Layers in the order they run; ``outputs`` feed the loss, or are simply the result."""

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Reference, ...]
    family: str = ""
    source: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tokens_per_sample(self) -> int | None:
        """The length of the longest sequence of numbers that is read as tokens; None where there is none."""
        lengths = (i.shape[0] for i in self.inputs if len(i.shape) == 1 and not i.dtype.is_floating)
        return max(lengths, default=None)
