"""What the operators and functions of an expression compute, within bounds."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from estimator.networks.language.tokens import LARGEST, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.networks.language.tokens import Value


def number(value: Value, what: str) -> int | float:
    """Return a number within bounds. Raises ExpressionError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExpressionError(f"{what} needs numbers, got {shown(value)}")
    if not -LARGEST < value < LARGEST:  # also refuses NaN
        raise ExpressionError(f"{what} gives a number beyond 2^62")
    return value


def shown(value: Value) -> str:
    """Write a value as a person would in YAML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    text = f"a list of {len(value)}" if isinstance(value, tuple) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004 - a line of a screen


def truth(value: Value) -> bool:
    """Return a condition's truth: a truth value, or a number that is 0 or not."""
    if isinstance(value, bool | int | float):
        return bool(value)
    raise ExpressionError(f"a condition must be a truth value or number, got {shown(value)}")


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUALITY: dict[str, Callable[[Any, Any], Any]] = {"==": operator.eq, "!=": operator.ne}


def binary(sign: str, left: Value, right: Value) -> Value:
    """Apply an operator to two values."""
    if sign in _EQUALITY:
        return bool(_EQUALITY[sign](left, right))
    a, b = number(left, f"'{sign}'"), number(right, f"'{sign}'")
    if sign in _COMPARISON:
        return bool(_COMPARISON[sign](a, b))
    if b == 0 and sign in ("/", "//", "%"):
        raise ExpressionError("division by zero")
    return number(_ARITHMETIC[sign](a, b), f"'{sign}'")


def index(items: Value, position: Value) -> Value:
    """Return the item at ``position``, from the back where it is negative."""
    if not isinstance(items, tuple):
        raise ExpressionError(f"[...] needs a list, got {shown(items)}")
    if isinstance(position, bool) or not isinstance(position, int):
        raise ExpressionError(f"a position in a list must be a whole number, got {shown(position)}")
    if not -len(items) <= position < len(items):
        raise ExpressionError(f"a list of {len(items)} has no item {position}", "the first item is 0")
    return items[position]


_NUMBERS = {int, float}


def _extreme(choose: Callable[[Any], int | float], name: str) -> Callable[..., Value]:
    def function(*values: Value) -> Value:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        if not items:
            raise ExpressionError(f"{name} needs at least one number")
        if not {type(item) for item in items} <= _NUMBERS:
            raise ExpressionError(f"{name} needs numbers")
        return number(choose(items), name)

    return function


def _whole(convert: Callable[[Any], int], name: str) -> Callable[..., Value]:
    def function(value: Value) -> Value:
        return convert(number(value, name))

    return function


def _length(value: Value) -> Value:
    if not isinstance(value, tuple):
        raise ExpressionError(f"len needs a list, got {shown(value)}")
    return len(value)


# name -> (function, fewest arguments, most arguments)
FUNCTIONS: dict[str, tuple[Callable[..., Value], int, int]] = {
    "min": (_extreme(min, "min"), 1, 16),
    "max": (_extreme(max, "max"), 1, 16),
    "ceil": (_whole(math.ceil, "ceil"), 1, 1),
    "round": (_whole(round, "round"), 1, 1),
    "int": (_whole(int, "int"), 1, 1),
    "len": (_length, 1, 1),
}
