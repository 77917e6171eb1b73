"""Expansion: items become the nodes of a graph; repeats are unrolled, blocks filled in, names resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.networks.language.arithmetic import shown
from estimator.networks.language.binding import check_names
from estimator.networks.language.evaluation import Evaluator
from estimator.networks.language.growth import least_steps
from estimator.networks.language.items import (
    BlockItem,
    BrokenItem,
    ChosenItem,
    GroupItem,
    LayerItem,
    ParallelItem,
    ResidualItem,
    ReuseItem,
)
from estimator.networks.language.references import UNKNOWN, mentions_prev, resolve_sources
from estimator.networks.language.scope import Target
from estimator.networks.language.writer import NodeWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.networks.graph import Reference
    from estimator.networks.language.binding import Binder
    from estimator.networks.language.frame import Frame
    from estimator.networks.language.items import Block, Common, Item
    from estimator.networks.language.parse import Parser
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.scope import Flow
    from estimator.networks.language.terms import Term
    from estimator.networks.language.tokens import Value

DEEPEST = 48
_MANY = 100  # repetitions that are worth a look at what they hold


class Expander:
    """Appends to ``nodes`` what items stand for, and returns what flows out of them."""

    def __init__(
        self,
        blocks: Mapping[str, Block],
        params: Mapping[str, Value],
        *,
        inputs: int,
        parser: Parser,
        binder: Binder,
        problems: Problems,
    ) -> None:
        self._params = params
        self._blocks = blocks
        self._parser = parser
        self._problems = problems
        self._active: list[str] = []
        self._chosen: dict[tuple[int, str], Item] = {}
        self._evaluator = Evaluator(problems)
        self._writer = NodeWriter(inputs, binder, self._evaluator, problems)
        self.nodes = self._writer.nodes

    def run(self, items: Sequence[Item], frame: Frame, flow: Flow) -> Flow:
        """Expand layers in a row."""
        for item in items:
            flow = self.item(item, frame, flow)
        return flow

    def item(self, item: Item, frame: Frame, flow: Flow) -> Flow:
        """Expand one item."""
        common = item.common
        if common.repeat is not None:
            return self._repeated(item, common.repeat, frame, flow)
        if isinstance(item, ChosenItem):
            item = self._choose(item, frame)
            common = item.common
        name = self._evaluator.name(common, frame.values)
        path = frame.paths.take(name or common.label)
        inputs = self._sources(common, frame, flow)
        first = len(self.nodes)
        outputs = self._body(item, frame, inputs, path)
        if name is not None:
            self._define(name, common, frame, self._target(item, outputs, first, inputs, path))
        return outputs

    def _target(self, item: Item, outputs: Flow, first: int, inputs: Flow, path: str) -> Target:
        is_layer = isinstance(item, LayerItem | BrokenItem) or (
            isinstance(item, ReuseItem) and len(self.nodes) == first + 1
        )
        return Target(outputs, first, len(self.nodes), inputs, path, is_layer=is_layer)

    def _repeated(self, item: Item, repeat: Term, frame: Frame, flow: Flow) -> Flow:
        """Expand an item several times, one after the other.

        A name without an expression belongs to the whole; one with an expression to each repetition.
        """
        common = item.common
        count = self._evaluator.repeats(repeat, frame.values)
        has_own_names = common.name is not None and not common.name.is_constant
        name = None if has_own_names else self._evaluator.name(common, frame.values)
        path = "" if has_own_names else frame.paths.take(name or common.label)
        entry, start = flow, len(self.nodes)
        values = dict(frame.values)
        if count > _MANY:
            self._evaluator.afford(common.at, count * least_steps(item, frame.values, count=1))
        for k in range(count):
            if not isinstance(count, bool):  # a condition leaves the counter of the repeat around it alone
                values[common.var] = k
            self._evaluator.step(common.at)
            errors = len(self._problems)
            inner = frame.iteration(values)
            inputs = flow
            if common.sources is not None and (k == 0 or mentions_prev(common.sources)):
                inputs = resolve_sources(common.sources, inner, flow, self._problems)
            entry = inputs if k == 0 else entry
            first = len(self.nodes)
            own_name = self._evaluator.name(common, values) if has_own_names else None
            if has_own_names:
                one = frame.paths.take(own_name or common.label)
            else:  # a repeat that is true or false is a condition, and its layers need no number
                one = path if isinstance(count, bool) else f"{path}.{k}"
            flow = self._body(item, inner, inputs, one)
            if own_name is not None:
                self._define(own_name, common, frame, self._target(item, flow, first, inputs, one))
            if len(self._problems) > errors:
                break
        if name is not None:
            self._define(name, common, frame, Target(flow, start, len(self.nodes), entry, path))
        return flow

    def _body(self, item: Item, frame: Frame, inputs: Flow, path: str) -> Flow:
        """Expand what an item contains. ``inputs`` flow into it; ``path`` is its own."""
        self._evaluator.step(item.common.at)
        if frame.depth > DEEPEST:
            raise self._problems.stop(
                f"containers and blocks nest deeper than {DEEPEST} levels", item.common.at
            )
        if isinstance(item, LayerItem):
            return self._writer.layer(item, frame, inputs, path)
        return self._container(item, frame, inputs, path)

    def _container(self, item: Item, frame: Frame, inputs: Flow, path: str) -> Flow:
        flow = inputs or UNKNOWN
        match item:
            case ChosenItem():
                flow = self._body(self._choose(item, frame), frame, inputs, path)
            case BlockItem():
                flow = self._block(item, frame, inputs, path)
            case GroupItem():
                flow = self.run(item.layers, self._inside(item.common, frame, path), inputs)
            case ResidualItem():
                flow = self._residual(item, frame, inputs, path)
            case ParallelItem():
                flow = self._parallel(item, frame, inputs, path)
            case ReuseItem():
                flow = self._writer.reuse(item, frame, inputs, path)
            case _:  # broken, and told so
                pass
        return flow

    def _block(self, item: BlockItem, frame: Frame, inputs: Flow, path: str) -> Flow:
        block, at = self._blocks[item.block], item.common.at
        if block.name in self._active:
            self._problems.add(f"block {block.name} contains itself", at, "use repeat: for layers in a row")
            return inputs or UNKNOWN
        what = f"block {block.name}"
        known = [parameter.name for parameter in block.parameters]
        required = [parameter.name for parameter in block.parameters if parameter.default is None]
        if not check_names(
            what, item.arguments, known=known, required=required, at=at, problems=self._problems
        ):
            return inputs or UNKNOWN
        given = {argument.name: argument.term for argument in item.arguments}
        values = dict(self._params)
        for parameter in block.parameters:
            term = given.get(parameter.name)
            if term is not None:
                values[parameter.name] = self._evaluator.value(term, frame.values)
            elif parameter.default is not None:
                values[parameter.name] = self._evaluator.value(parameter.default, values)
        inner = frame.block(values, path, inputs)
        self._inherit(item.common, frame, inner)
        self._active.append(block.name)
        outputs = self.run(block.layers, inner, inputs)
        self._active.pop()
        return outputs

    def _residual(self, item: ResidualItem, frame: Frame, inputs: Flow, path: str) -> Flow:
        inner = self._inside(item.common, frame, path)
        body = self.run(item.layers, inner, inputs)
        beside = inputs
        if item.shortcut:
            shortcut = inner.inside(f"{path}.shortcut")
            beside = self.run(item.shortcut, shortcut, inputs)
        # Of a sum ``x + f(x)`` the first operand decides the order in memory, as in the code of most models.
        is_plain = not item.shortcut and item.join.cls.type_name != "Concat"
        operands = (*beside, *body) if is_plain else (*body, *beside)
        return self._writer.layer(item.join, inner, operands, inner.paths.take(item.join.common.label))

    def _parallel(self, item: ParallelItem, frame: Frame, inputs: Flow, path: str) -> Flow:
        inner = self._inside(item.common, frame, path)
        outputs: list[Reference] = []
        if item.count is None:
            for k, branch in enumerate(item.branches):
                outputs += self.run(branch, inner.inside(f"{path}.{k}"), inputs)
        else:
            values = dict(frame.values)
            for k in range(self._evaluator.repeats(item.count, frame.values)):
                values[item.common.var] = k
                self._evaluator.step(item.common.at)
                errors = len(self._problems)
                one = inner.iteration(values).inside(f"{path}.{k}")
                outputs += self.run(item.branches[0], one, inputs)
                if len(self._problems) > errors:
                    break
        if item.merge is None or not outputs:
            return tuple(outputs)
        return self._writer.layer(
            item.merge, inner, tuple(outputs), inner.paths.take(item.merge.common.label)
        )

    def _choose(self, item: ChosenItem, frame: Frame) -> Item:
        """Return the item whose type an expression gives."""
        value = self._evaluator.value(item.type, frame.values)
        if not isinstance(value, str):
            if value is not None:
                self._problems.add(
                    f"'type' must be the name of a layer type, got {shown(value)}", item.type.at
                )
            return BrokenItem(common=item.common)
        key = (id(item), value)
        if key not in self._chosen:
            self._chosen[key] = self._parser.named(
                value, item.type.at, item.common.labelled(value), item.arguments, item.tie
            )
        return self._chosen[key]

    def _inside(self, common: Common, frame: Frame, path: str) -> Frame:
        inner = frame.inside(path)
        self._inherit(common, frame, inner)
        return inner

    def _inherit(self, common: Common, frame: Frame, inner: Frame) -> None:
        """Make trainable, training_only and times of a container hold for what is inside."""
        inner.times = self._evaluator.times(common, frame)
        if common.trainable is not None:
            inner.trainable = frame.trainable and self._evaluator.truth(
                common.trainable, frame.values, default=True
            )
        if common.training_only is not None:
            inner.training_only = frame.training_only or self._evaluator.truth(
                common.training_only, frame.values, default=False
            )

    def _sources(self, common: Common, frame: Frame, flow: Flow) -> Flow:
        if common.sources is None:
            return flow
        return resolve_sources(common.sources, frame, flow, self._problems)

    def _define(self, name: str, common: Common, frame: Frame, target: Target) -> None:
        is_computed = common.name is not None and not common.name.is_constant
        if not frame.scope.define(name, target, is_computed=is_computed):
            at = common.name.at if common.name else common.at
            self._problems.add(f"name {name!r} is used twice", at)
