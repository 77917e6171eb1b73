"""The small language of ``$name`` and ``${...}``: a Pratt parser that compiles to closures, never eval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from estimator.errors import suggestion
from estimator.networks.language import arithmetic
from estimator.networks.language.tokens import ExpressionError, Value, tokenize

if TYPE_CHECKING:
    from estimator.networks.language.tokens import Token

Environment: TypeAlias = Mapping[str, Value]
Code: TypeAlias = Callable[[Environment], Value]

_DEEPEST = 20
# How strongly an operator binds; a prefix binds what follows it with the same strength.
_STRENGTH = {
    "if": 1, "or": 2, "and": 3, "not": 4,
    "<": 5, "<=": 5, ">": 5, ">=": 5, "==": 5, "!=": 5,
    "+": 6, "-": 6, "*": 7, "/": 7, "//": 7, "%": 7, "sign": 8, "[": 9, "(": 9,
}  # fmt: skip
_COMPARISONS = 5


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression; ``scans`` counts the functions that may look at a whole list."""

    text: str
    code: Code
    scans: int

    def evaluate(self, names: Environment) -> Value:
        """Compute the value. Raises ExpressionError."""
        try:
            return self.code(names)
        except ExpressionError as error:
            if self.text.isidentifier():  # an unknown name says all there is to say
                raise
            raise ExpressionError(f"cannot compute {self.text!r}: {error.message}", error.hint) from None


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Program:
    """Compile an expression. Raises ExpressionError.

    In order of strength: ``a if c else b``, or, and, not, comparisons, + -, * / // %, sign, ``list[i]`` and
    calls of min, max, ceil, round, int, len; ``[1, 2]`` is a list.
    """
    return _Parser(text).program()


class _Parser:
    """Reads tokens from the left; ``_parse(strength)`` reads as long as operators bind more strongly."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0
        self.depth = 0
        self.scans = 0

    def program(self) -> Program:
        """Read the whole text."""
        if self._kind == "end":
            raise ExpressionError("an expression is empty", "write a value between ${ and }")
        code = self._parse(0)
        if self._kind != "end":
            raise self._unexpected()
        return Program(self.text, code, self.scans)

    @property
    def _kind(self) -> str:
        return self.tokens[self.position].kind

    def _next(self) -> Token:
        self.position += 1
        return self.tokens[self.position - 1]

    def _expect(self, kind: str) -> None:
        if self._kind != kind:
            raise self._unexpected(f"; expected '{kind}'")
        self.position += 1

    def _unexpected(self, more: str = "") -> ExpressionError:
        token = self.tokens[self.position]
        if token.kind == "end":
            return ExpressionError(f"{self.text!r} ends too early{more}")
        what = token.kind if token.value is None else arithmetic.shown(token.value)
        return ExpressionError(f"{self.text!r}: {what} is not expected here{more}")

    def _parse(self, strength: int) -> Code:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ExpressionError(f"{self.text[:20]!r}... is nested deeper than {_DEEPEST} levels")
        left = self._operand()
        while _STRENGTH.get(self._kind, 0) > strength and self._kind != "not":
            left = self._operator(left)
        self.depth -= 1
        return left

    def _operand(self) -> Code:
        token = self.tokens[self.position]
        if token.kind in ("number", "text", "constant"):
            self.position += 1
            value = token.value
            return lambda _: value
        if token.kind == "name":
            self.position += 1
            return self._call(str(token.value)) if self._kind == "(" else variable(str(token.value))
        if token.kind == "(":
            self.position += 1
            inner = self._parse(0)
            self._expect(")")
            return inner
        if token.kind == "[":
            self.position += 1
            return self._list()
        if token.kind in ("-", "+"):
            self.position += 1
            return _signed(token.kind, self._parse(_STRENGTH["sign"]))
        if token.kind == "not":
            self.position += 1
            operand = self._parse(_STRENGTH["not"] - 1)
            return lambda names: not arithmetic.truth(operand(names))
        raise self._unexpected()

    def _operator(self, left: Code) -> Code:
        kind = self._next().kind
        if kind == "if":
            return self._choice(left)
        if kind == "[":
            position = self._parse(0)
            self._expect("]")
            return lambda names: arithmetic.index(left(names), position(names))
        if kind == "(":
            self.position -= 1
            raise self._unexpected()
        right = self._parse(_STRENGTH[kind])
        if kind == "and":
            return lambda names: arithmetic.truth(left(names)) and arithmetic.truth(right(names))
        if kind == "or":
            return lambda names: arithmetic.truth(left(names)) or arithmetic.truth(right(names))
        if _STRENGTH[kind] == _COMPARISONS and _STRENGTH.get(self._kind) == _COMPARISONS:
            raise ExpressionError(f"{self.text!r} chains comparisons", "write: a < b and b < c")
        return lambda names: arithmetic.binary(kind, left(names), right(names))

    def _choice(self, chosen: Code) -> Code:
        condition = self._parse(_STRENGTH["if"])
        self._expect("else")
        other = self._parse(0)
        return lambda names: chosen(names) if arithmetic.truth(condition(names)) else other(names)

    def _call(self, name: str) -> Code:
        if name not in arithmetic.FUNCTIONS:
            known = ", ".join(arithmetic.FUNCTIONS)
            raise ExpressionError(
                f"unknown function {name!r} in {self.text!r}",
                suggestion(name, arithmetic.FUNCTIONS) or f"known are {known}",
            )
        function, fewest, most = arithmetic.FUNCTIONS[name]
        self.scans += name in ("min", "max")
        self._expect("(")
        arguments = self._items(")")
        if not fewest <= len(arguments) <= most:
            raise ExpressionError(f"{name} in {self.text!r} cannot take {len(arguments)} values")
        return lambda names: function(*(argument(names) for argument in arguments))

    def _list(self) -> Code:
        items = self._items("]")
        return lambda names: tuple([item(names) for item in items])

    def _items(self, end: str) -> list[Code]:
        """Read values with commas between them up to ``end``."""
        items: list[Code] = []
        while self._kind != end:
            items.append(self._parse(0))
            if self._kind != end:
                self._expect(",")
        self._expect(end)
        return items


def _signed(sign: str, operand: Code) -> Code:
    if sign == "+":
        return lambda names: arithmetic.number(operand(names), "'+'")
    return lambda names: -arithmetic.number(operand(names), "'-'")


def variable(name: str) -> Code:
    """Return the code that looks a name up."""

    def look_up(names: Environment) -> Value:
        try:
            return names[name]
        except KeyError:
            hint = suggestion(name, names) or "names come from params:, a block's args: and repeat:"
            raise ExpressionError(f"unknown name {name!r}", hint) from None

    return look_up
