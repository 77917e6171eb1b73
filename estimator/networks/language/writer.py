"""The nodes of a network while it is expanded: layers appended, or used again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.networks.graph import Node, Reference
from estimator.networks.language.references import UNKNOWN, find_target
from estimator.networks.language.reuse import copies

if TYPE_CHECKING:
    from estimator.errors import Location
    from estimator.networks.language.binding import Binder
    from estimator.networks.language.evaluation import Evaluator
    from estimator.networks.language.frame import Frame
    from estimator.networks.language.items import LayerItem, ReuseItem
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.scope import Flow
    from estimator.networks.language.terms import Term

MOST_LAYERS = 200_000


class NodeWriter:
    """Appends nodes; ``inputs`` is how many inputs of the network references count before the first node."""

    def __init__(self, inputs: int, binder: Binder, evaluator: Evaluator, problems: Problems) -> None:
        self.nodes: list[Node] = []
        self._calls = 0
        self._inputs = inputs
        self._binder = binder
        self._evaluator = evaluator
        self._problems = problems

    def layer(self, item: LayerItem, frame: Frame, inputs: Flow, path: str) -> Flow:
        """Append the node of a layer and return its output."""
        common = item.common
        layer = item.layer
        if layer is None:
            self._evaluator.scan(common.at, sum(argument.term.scans for argument in item.arguments))
            layer = self._binder.layer(item.cls, item.arguments, frame.values, common.at)
            if layer is None:
                return inputs or UNKNOWN
        if not item.cls.example.shapes and common.sources is None:
            inputs = ()  # a layer that makes its value: nothing flows into it
        elif not inputs:
            self._problems.add(f"nothing flows into {item.cls.type_name}", common.at, self._no_input_hint())
            return UNKNOWN
        self._make_room(1, common.at)
        times = self._evaluator.times(common, frame)
        self._runs(times, common.at)
        self.nodes.append(
            Node(
                path=path,
                layer=layer,
                inputs=inputs,
                tied=None if item.tie is None else self._tied(item.tie, frame),
                trainable=self._evaluator.truth(common.trainable, frame.values, default=frame.trainable)
                and frame.trainable,
                training_only=self._evaluator.truth(common.training_only, frame.values, default=False)
                or frame.training_only,
                times=times,
                at=common.at,
                places=item.places,
                hint=item.hint,
            )
        )
        return (Reference(self._inputs + len(self.nodes) - 1),)

    def _tied(self, tie: Term, frame: Frame) -> int | None:
        target = find_target(tie, frame, self._problems)
        if target is None:
            return None
        if not target.is_layer:
            self._problems.add("only the weight of a single layer can be tied", tie.at)
            return None
        if target.last == target.first and target.first == 0 and len(self._problems) == 0:
            self._problems.add("an input has no weight", tie.at)
        return target.first

    def reuse(self, item: ReuseItem, frame: Frame, inputs: Flow, path: str) -> Flow:
        """Append the nodes of a name once more, sharing their weights, and return their outputs."""
        target, at = find_target(item.target, frame, self._problems), item.common.at
        if target is None:
            return inputs or UNKNOWN
        if target.first == target.last:
            self._problems.add("what is reused has no layers", item.target.at)
            return inputs or UNKNOWN
        if len(inputs) != len(target.entry):
            self._problems.add(f"the reused layers take {len(target.entry)} inputs, not {len(inputs)}", at)
            return UNKNOWN
        self._make_room(target.last - target.first, at)
        self._evaluator.step(at, target.last - target.first)
        times = self._evaluator.times(item.common, frame)
        nodes, outputs = copies(target, self.nodes, self._inputs, inputs=inputs, path=path, at=at)
        nodes = [replace(node, times=node.times * times) for node in nodes]
        self._runs(sum(node.times for node in nodes), at)
        self.nodes += nodes
        return outputs

    def _make_room(self, count: int, at: Location) -> None:
        if len(self.nodes) + count > MOST_LAYERS:
            raise self._problems.stop(f"more than {MOST_LAYERS:,} layers", at)

    def _runs(self, times: int, at: Location) -> None:
        """Count the calls of layers that ``times`` adds to their number."""
        self._calls += times
        if self._calls > MOST_LAYERS:
            raise self._problems.stop(f"more than {MOST_LAYERS:,} calls of layers", at)

    def _no_input_hint(self) -> str | None:
        if self._inputs == 0:
            return "the network has no 'inputs'"
        return "the network has several inputs: say which with 'from'" if self._inputs > 1 else None
