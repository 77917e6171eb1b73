"""Where expansion stands: the values, names and paths in force inside one container."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.networks.language.paths import Paths
from estimator.networks.language.scope import Scope

if TYPE_CHECKING:
    from estimator.networks.language.scope import Flow
    from estimator.networks.language.tokens import Value


class Frame:
    """Values by name, names of layers, paths, what flowed into the block, and what holds for all inside."""

    __slots__ = ("depth", "entry", "paths", "scope", "times", "trainable", "training_only", "values")

    def __init__(self, values: dict[str, Value], scope: Scope, paths: Paths, entry: Flow | None) -> None:
        self.values = values
        self.scope = scope
        self.paths = paths
        self.entry = entry
        self.trainable = True
        self.training_only = False
        self.times = 1
        self.depth = 0

    def inside(self, path: str) -> Frame:
        """Return the frame of a container: same values and names, its own paths."""
        return self._with(Frame(self.values, self.scope, Paths(path), self.entry))

    def iteration(self, values: dict[str, Value]) -> Frame:
        """Return the frame of one repetition: its own names, of which computed ones are exported."""
        scope = Scope(self.scope, exports=self.scope)
        return self._with(Frame(values, scope, self.paths, self.entry), deeper=0)

    def block(self, values: dict[str, Value], path: str, entry: Flow) -> Frame:
        """Return the frame of a block: its own values and names; names outside can be read."""
        return self._with(Frame(values, Scope(self.scope), Paths(path), entry))

    def _with(self, frame: Frame, deeper: int = 1) -> Frame:
        frame.trainable = self.trainable
        frame.training_only = self.training_only
        frame.times = self.times
        frame.depth = self.depth + deeper
        return frame
