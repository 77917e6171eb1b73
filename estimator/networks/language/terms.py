"""Values in a network file: constants, ``$name``, ``${...}``, text around ``${...}``, lists of these."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.document import ListNode, MapNode
from estimator.networks.language.arithmetic import shown
from estimator.networks.language.expression import Program, compile_expression, variable
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from estimator.document import Node
    from estimator.errors import Location
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.tokens import Value

LONGEST_LIST = 1000
_LARGEST_EXACT = 2**53  # whole numbers beyond are not told apart as floats

_NAME = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_EXPRESSION = re.compile(r"\$\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Term:
    """A value to be computed where ``parts`` are given: of a list, of a text, or the one expression."""

    at: Location
    constant: Value = None
    program: Program | None = None
    parts: tuple[Term, ...] | None = None
    is_text: bool = False
    is_broken: bool = False  # its error is told; whatever it would be is not looked at

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same everywhere."""
        return self.program is None and self.parts is None

    @property
    def scans(self) -> int:
        """How many whole lists an evaluation may look at."""
        own = self.program.scans if self.program else 0
        return own + sum(part.scans for part in self.parts or ())

    def evaluate(self, names: Environment) -> Value:
        """Compute the value. Raises ExpressionError."""
        if self.program is not None:
            return self.program.evaluate(names)
        if self.parts is None:
            return self.constant
        values = tuple(part.evaluate(names) for part in self.parts)
        return "".join(_as_text(value) for value in values) if self.is_text else values


def _as_text(value: Value) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ExpressionError(f"text can hold whole numbers and text, got {shown(value)}")
    return str(value)


def read_term(node: Node, problems: Problems) -> Term:
    """Turn a document's value into a term; what cannot be one is reported and becomes an empty constant."""
    if isinstance(node, MapNode):
        problems.add("expected a value, not a mapping", node.at)
        return Term(node.at, is_broken=True)
    if isinstance(node, ListNode):
        return _list_term(node, problems)
    if not isinstance(node.value, str) or "$" not in node.value:
        return Term(node.at, whole_if_so(node.value))
    try:
        return _text_term(node.value, node.at)
    except ExpressionError as error:
        problems.add(error.message, node.at, error.hint)
        return Term(node.at, is_broken=True)


def whole_if_so(value: Value) -> Value:
    """Return a number written ``1.2e6`` or ``8.0`` as the whole number it is; a computed quotient stays."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT
    return int(value) if isinstance(value, float) and is_whole else value


def _list_term(node: ListNode, problems: Problems) -> Term:
    if len(node.items) > LONGEST_LIST:
        problems.add(f"a list of {len(node.items)} is too long", node.at, f"at most {LONGEST_LIST} items")
        return Term(node.at, is_broken=True)
    parts = tuple(read_term(item, problems) for item in node.items)
    if any(part.is_broken for part in parts):
        return Term(node.at, is_broken=True)
    if all(part.is_constant for part in parts):
        return Term(node.at, tuple(part.constant for part in parts))
    return Term(node.at, parts=parts)


def _text_term(text: str, at: Location) -> Term:
    if name := _NAME.fullmatch(text):
        return Term(at, program=Program(name.group(1), variable(name.group(1)), 0))
    if whole := _EXPRESSION.fullmatch(text):
        return Term(at, program=compile_expression(whole.group(1).strip()))
    parts: list[Term] = []
    position = 0
    for match in _EXPRESSION.finditer(text):
        parts.append(Term(at, text[position : match.start()]))
        parts.append(Term(at, program=compile_expression(match.group(1).strip())))
        position = match.end()
    parts.append(Term(at, text[position:]))
    if any(isinstance(part.constant, str) and "$" in part.constant for part in parts):
        raise ExpressionError(f"cannot read {text!r}", "write $name or ${expression}")
    return Term(at, parts=tuple(parts), is_text=True)
