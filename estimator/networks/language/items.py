"""The parts of a network file after parsing, before expansion: layers, blocks, containers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.document import Node, Scalar
    from estimator.errors import Location
    from estimator.layers.base import Layer
    from estimator.networks.language.binding import Argument
    from estimator.networks.language.terms import Term


@dataclass(frozen=True, slots=True)
class Written:
    """A layer as it stands in the text: reserved keys apart from arguments."""

    at: Location
    reserved: Mapping[str, tuple[Scalar, Node]]
    arguments: tuple[tuple[Scalar, Node], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every item can have; ``label`` is its part of a path where it has no name."""

    at: Location
    label: str
    name: Term | None = None
    sources: tuple[Term, ...] | None = None
    repeat: Term | None = None
    var: str = "i"
    times: Term | None = None
    trainable: Term | None = None
    training_only: Term | None = None

    def labelled(self, label: str) -> Common:
        """Return the same under another label."""
        return replace(self, label=label)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerItem:
    """One layer; ``layer`` is made already where no argument has to be computed."""

    common: Common
    cls: type[Layer]
    arguments: tuple[Argument, ...] = ()
    tie: Term | None = None
    layer: Layer | None = None
    places: Mapping[str, Location] = field(default_factory=dict)
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockItem:
    """A use of a block."""

    common: Common
    block: str
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenItem:
    """A layer or block whose type has to be computed (``type: $activation``)."""

    common: Common
    type: Term
    arguments: tuple[Argument, ...] = ()
    tie: Term | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseItem:
    """The same layers again, with the same weights."""

    common: Common
    target: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupItem:
    """Layers in a row: Sequential, or the body of a repeat."""

    common: Common
    layers: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualItem:
    """Layers beside a shortcut (empty: the input itself), and the layer that joins them."""

    common: Common
    layers: tuple[Item, ...]
    shortcut: tuple[Item, ...]
    join: LayerItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelItem:
    """Branches on one input, or one branch ``count`` times; without ``merge`` all outputs go on."""

    common: Common
    branches: tuple[tuple[Item, ...], ...]
    count: Term | None
    merge: LayerItem | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenItem:
    """An item with a reported error: it lets its input through, so that the rest can be checked."""

    common: Common


Item: TypeAlias = (
    LayerItem | BlockItem | ChosenItem | ReuseItem | GroupItem | ResidualItem | ParallelItem | BrokenItem
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockParameter:
    """An argument of a block; without ``default`` it is required."""

    name: str
    default: Term | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Layers with arguments, under a name."""

    name: str
    parameters: tuple[BlockParameter, ...]
    layers: tuple[Item, ...]
    at: Location
