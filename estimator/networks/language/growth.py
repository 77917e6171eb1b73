"""How much an item expands to at the least, told before it is expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.networks.language.items import GroupItem, ParallelItem, ResidualItem
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.items import Item
    from estimator.networks.language.terms import Term


def least_steps(item: Item, values: Environment, *, count: int | None = None) -> int:
    """Return how many layers, containers and repetitions an item is at the least, ``count`` times.

    Without ``count`` it is what the item's own ``repeat`` says, and none where that cannot be told yet.
    """
    inside: tuple[Item, ...] = ()
    match item:
        case GroupItem():
            inside = item.layers
        case ResidualItem():
            inside = (*item.layers, *item.shortcut)
        case ParallelItem(count=None):
            inside = tuple(one for branch in item.branches for one in branch)
        case ParallelItem(count=repeat) if repeat is not None:
            return 1 + _count(repeat, values) * (
                1 + sum(least_steps(one, values) for one in item.branches[0])
            )
    if count is None:
        count = 1 if item.common.repeat is None else _count(item.common.repeat, values)
    return count * (1 + sum(least_steps(one, values) for one in inside))


def _count(repeat: Term, values: Environment) -> int:
    try:
        value = repeat.evaluate(values)
    except ExpressionError:  # of a loop's variable or a block's argument, or wrong: told when it is expanded
        return 0
    return value if isinstance(value, int) and value > 0 else 0
