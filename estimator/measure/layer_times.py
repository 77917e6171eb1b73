"""Times by layer: marks around each layer's forward, and hooks before each of its backward nodes."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from estimator.measure.step import BACKWARD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from estimator.measure.clock import Clock
    from estimator.measure.framework import Torch
    from estimator.measure.step import Span

_ACCUMULATE = "AccumulateGrad"


class LayerWatch:
    """Watches one step: every backward node belongs to the layer whose forward made it.

    The autograd engine runs one node after the other; the time from the hook before a node to the next
    hook is its layer's. Adding up a weight's gradient counts to the layer that computed it.
    """

    def __init__(self, clock: Clock) -> None:
        """Take marks of this clock."""
        self.clock = clock
        self.forwards: list[tuple[int, object, object]] = []
        self.events: list[tuple[int, object]] = []
        self._seen: set[Torch] = set()

    @contextmanager
    def forward(self, index: int) -> Iterator[None]:
        """Mark a layer's forward."""
        start = self.clock.mark()
        yield
        self.forwards.append((index, start, self.clock.mark()))

    def leaves(self, index: int, sources: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Put hooks before the backward nodes between a layer's outputs and its inputs."""
        known = {node for node in sources if node is not None}
        waiting = [x.grad_fn for x in outputs if x.grad_fn is not None]
        while waiting:
            node = waiting.pop()
            if node in known or node in self._seen:
                continue
            self._seen.add(node)
            if node.name().endswith(_ACCUMULATE):
                continue
            node.register_prehook(lambda _grads, index=index: self._event(index))
            waiting += [following for following, _ in node.next_functions if following is not None]

    def _event(self, index: int) -> None:
        self.events.append((index, self.clock.mark()))

    def seconds(self, spans: Sequence[Span]) -> tuple[dict[int, float], dict[int, float]]:
        """Return the forward and backward seconds by layer; the clock has settled.

        What passes before the first node counts to it.
        """
        self._seen.clear()
        forward: dict[int, float] = defaultdict(float)
        for index, start, end in self.forwards:
            forward[index] += self.clock.between(start, end)
        backward: dict[int, float] = defaultdict(float)
        spans = [span for span in spans if span.phase == BACKWARD]
        if self.events and len(spans) == 1:
            layers = [index for index, _ in self.events]
            edges = [spans[0].start, *(mark for _, mark in self.events[1:]), spans[0].end]
            for index, start, end in zip(layers, edges[:-1], edges[1:], strict=True):
                backward[index] += self.clock.between(start, end)
        return dict(forward), dict(backward)
