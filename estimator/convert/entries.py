"""The calls of a converted network as plain data: what becomes YAML, and what becomes a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """One output of an entry, or of an input: inputs count first, then entries in order."""

    index: int
    output: int = 0


@dataclass(slots=True, kw_only=True)
class Entry:
    """One layer call: type and arguments as in YAML, where its inputs come from, and whose weights it uses.

    ``scope`` are the module calls it belongs to, outermost first, as indices of the network's ``scopes``.
    ``reuse`` is the entry whose layer this calls again; ``tie`` the entry whose weight this one's is.
    """

    type: str
    args: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Source, ...] = ()
    path: str = ""
    reuse: int | None = None
    tie: int | None = None
    trainable: bool = True
    training_only: bool = False
    scope: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """An input of the network: its shape without the batch, and its number format in torch's words."""

    name: str
    shape: tuple[Any, ...]
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Gap:
    """A call that no layer describes: it became Custom, with what was measured of it.

    ``unknown`` says what of it could not be told: its FLOPs are then one for each element that comes out.
    """

    path: str
    function: str
    calls: int
    flops: int
    bytes: int
    unknown: str = ""

    @property
    def place(self) -> str:
        """The path in the network, or the function where it has none."""
        return self.path or self.function.split(" ", 1)[0]


@dataclass(slots=True, kw_only=True)
class Converted:
    """A network in plain data, with what could not be said in layers."""

    name: str
    inputs: list[Given]
    entries: list[Entry]
    outputs: list[Source]
    source: str = ""
    loss: str | None = None
    gaps: list[Gap] = field(default_factory=list)
    scopes: list[tuple[str, str]] = field(default_factory=list)
    params: dict[str, int] = field(default_factory=dict)
    output_shapes: list[tuple[int, ...]] = field(default_factory=list)
    scaled: Any = None
    fixed_size: str = ""
