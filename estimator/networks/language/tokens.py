"""The words and signs of an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

LONGEST = 200
LARGEST = 2**62  # no number in an expression reaches it, nor any result

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"


class ExpressionError(ValueError):
    """An expression that cannot be read or computed: what is wrong, and what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is number, text, name, the sign or keyword itself, or end."""

    kind: str
    value: Value = None


KEYWORDS = frozenset({"and", "or", "not", "if", "else"})
CONSTANTS: dict[str, Value] = {"true": True, "false": False, "True": True, "False": False}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>()\[\],])
    )""",
    re.VERBOSE,
)
_HINTS = {
    "**": "powers are not part of an expression; multiply instead",
    ".": "attributes are not part of an expression",
    "=": "to compare, write ==",
    "&": "write: and",
    "|": "write: or",
    "!": "write: not",
    "$": "inside ${...} a name stands without $",
    ":": "slices are not part of an expression",
}


def tokenize(text: str) -> list[Token]:
    """Split an expression; the last token is the end. Raises ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters is too long", f"at most {LONGEST}")
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.group("sign") == "**":
            sign = "**" if match else text[position:].lstrip()[0]
            raise ExpressionError(f"{text!r} uses {sign!r}, which an expression may not", _HINTS.get(sign))
        position = match.end()
        if match.group("number"):
            tokens.append(Token("number", _number(match.group("number"))))
        elif match.group("text"):
            tokens.append(Token("text", match.group("text")[1:-1]))
        elif match.group("name"):
            tokens.append(_word(match.group("name")))
        else:
            tokens.append(Token(match.group("sign")))
    tokens.append(Token("end"))
    return tokens


def _number(text: str) -> int | float:
    value = int(text) if text.isdigit() else float(text)
    if value >= LARGEST:
        raise ExpressionError(f"the number {text[:24]} is out of range", "numbers are below 2^62")
    return value


def _word(text: str) -> Token:
    if text in KEYWORDS:
        return Token(text)
    return Token("constant", CONSTANTS[text]) if text in CONSTANTS else Token("name", text)
