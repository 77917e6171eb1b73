"""Plain YAML scalars to values: the YAML 1.2 core schema, with what is ambiguous refused."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.document import Value

LARGEST_DIGITS = 18
_LONGEST_NUMBER = 64

_CONSTANTS: dict[str, Value] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".nan": math.nan, ".NaN": math.nan, ".NAN": math.nan,
}  # fmt: skip
_CONSTANTS |= {
    sign + text: -math.inf if sign == "-" else math.inf
    for sign in ("", "+", "-")
    for text in (".inf", ".Inf", ".INF")
}
_MAY_BE_NUMBER = frozenset("0123456789+-.")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)")
_FLOAT = re.compile(r"([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))(?:[eE][-+]?[0-9]+)?")


class ScalarRefusedError(ValueError):
    """A scalar that two YAML readers would read differently, or that no quantity here can be."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep what is wrong and what to do."""
        super().__init__(message)
        self.message = message
        self.hint = hint


def resolve(text: str) -> Value:
    """Return the value of an unquoted scalar.

    YAML 1.2 (section 10.3, core schema): ``no`` and ``on`` are text, ``1e-3`` is a number, ``0o17`` and
    ``0x1f`` are whole numbers. Raises ScalarRefusedError for ``010`` (8 in YAML 1.1, 10 in YAML 1.2) and for
    numbers out of range.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _DECIMAL.fullmatch(text):
        return _decimal(text)
    if _OTHER_BASE.fullmatch(text):
        return _in_range(int(text[2:], 8 if text[1] == "o" else 16) if len(text) < _LONGEST_NUMBER else None)
    match = _FLOAT.fullmatch(text)
    return text if match is None else _float(text, match.group(1))


def _decimal(text: str) -> int:
    digits = text.lstrip("+-")
    if len(digits) > LARGEST_DIGITS:
        raise ScalarRefusedError(
            f"a whole number of {len(digits)} digits is out of range", f"at most {LARGEST_DIGITS} digits"
        )
    if len(digits) > 1 and digits[0] == "0":
        plain = digits.lstrip("0") or "0"
        raise ScalarRefusedError(
            f"{text} is ambiguous: a leading 0 means base 8 in YAML 1.1 and nothing in YAML 1.2",
            f"write {plain}, or 0o{plain} for base 8, or '{text}' in quotes for text",
        )
    return int(text)


def _in_range(value: int | None) -> int:
    if value is None or value >= 10**LARGEST_DIGITS:
        raise ScalarRefusedError("a whole number is out of range", f"at most {LARGEST_DIGITS} decimal digits")
    return value


def _float(text: str, mantissa: str) -> float:
    if len(text) > _LONGEST_NUMBER:
        raise ScalarRefusedError(
            f"a number of {len(text)} characters is out of range", f"at most {_LONGEST_NUMBER} characters"
        )
    value = float(text)
    if math.isinf(value):
        raise ScalarRefusedError(f"{text} is too large", "the largest number is about 1.8e308")
    if value == 0 and mantissa.strip("+-0."):
        raise ScalarRefusedError(
            f"{text} is too small to be told from 0", "the smallest number is about 5e-324"
        )
    return value
