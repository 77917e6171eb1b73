"""The ``params:`` of a network and the values that replace them (``--set seq=2048``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.document import MapNode
from estimator.errors import suggestion
from estimator.networks.language.arithmetic import shown
from estimator.networks.language.parse import is_variable
from estimator.networks.language.terms import read_term
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.document import Node
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.tokens import Value


def read_params(node: Node | None, overrides: Mapping[str, object], problems: Problems) -> dict[str, Value]:
    """Return parameters by name, each of which may use the ones before it."""
    values: dict[str, Value] = {}
    pairs = node.entries if isinstance(node, MapNode) else ()
    if node is not None and not isinstance(node, MapNode):
        problems.add("'params' must be a mapping of names to values", node.at)
    for key, value_node in pairs:
        name = str(key.value)
        if not is_variable(name):
            problems.add(
                f"{name!r} cannot be a parameter", key.at, "use letters, digits and _, a letter first"
            )
            continue
        term = read_term(value_node, problems)
        try:
            value = term.evaluate(values)
        except ExpressionError as error:
            problems.add(error.message, value_node.at, error.hint)
            value = 1  # so that what uses it is not reported too
        if value is None:
            problems.add(f"parameter {name!r} has no value", value_node.at)
            value = 1
        if name in overrides:
            value = _replaced(name, value, overrides[name], problems)
        values[name] = value
    for name in overrides:
        if name not in values:
            known = f"it has {', '.join(values)}" if values else "it has none"
            problems.add(f"the network has no parameter {name!r}", None, suggestion(name, values) or known)
    return values


def _replaced(name: str, old: Value, given: object, problems: Problems) -> Value:
    """Return the value given for a parameter if it is of the same type as the one in the file."""
    new = _as_value(given)
    if isinstance(old, float) and isinstance(new, int) and not isinstance(new, bool):
        return float(new)
    if isinstance(old, int) and isinstance(new, float) and not isinstance(old, bool):
        return _as_number(name, new, problems)
    if type(new) is not type(old):
        problems.add(f"parameter {name!r} cannot be {shown(new)}", None, f"it is {shown(old)} in the file")
        return old
    return new


def _as_number(name: str, new: float, problems: Problems) -> Value:
    """Return a whole float as a whole number: ``1e3`` is 1000 where a count is meant."""
    if new.is_integer():
        return int(new)
    problems.add(f"parameter {name!r} must be a whole number, got {new}", None)
    return 1


def _as_value(given: object) -> Value:
    if isinstance(given, list | tuple):
        return tuple(_as_value(item) for item in given)
    return given if isinstance(given, bool | int | float | str) else None
