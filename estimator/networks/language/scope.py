"""Names of layers: what is defined where, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from estimator.networks.graph import Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

Flow: TypeAlias = tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What a name stands for: its outputs, its nodes (``first`` to before ``last``), what flowed into it."""

    outputs: Flow
    first: int
    last: int
    entry: Flow
    path: str
    is_layer: bool = False

    def output(self, index: int) -> Reference | None:
        """Return one output; of a single layer any can be asked for."""
        if self.is_layer:
            return Reference(self.outputs[0].node, index)
        return self.outputs[index] if index < len(self.outputs) else None


class Scope:
    """Names defined in a network, a block or one repetition; what is not found here is looked for outside.

    A name with an expression in it (``skip${i}``) that is defined in a repetition can be used after the
    repeat as well: ``exports`` is where it goes. Defined there again, the last one counts.
    """

    __slots__ = ("_computed", "exports", "names", "outer")

    def __init__(self, outer: Scope | None = None, *, exports: Scope | None = None) -> None:
        self.names: dict[str, Target] = {}
        self.outer = outer
        self.exports = exports
        self._computed: set[str] = set()

    def define(self, name: str, target: Target, *, is_computed: bool = False) -> bool:
        """Add a name; return False if this scope has it already."""
        if name in self.names:
            return False
        self.names[name] = target
        return self.exports is None or not is_computed or self.exports.export(name, target)

    def export(self, name: str, target: Target) -> bool:
        """Take a name over from a repetition; return False if it would hide a written one."""
        if name in self.names and name not in self._computed:
            return False
        self.names[name] = target
        self._computed.add(name)
        return self.exports is None or self.exports.export(name, target)

    def find(self, name: str) -> Target | None:
        """Return what a name stands for, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def visible(self) -> Iterator[str]:
        """Give all names that can be used here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.outer
