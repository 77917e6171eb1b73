"""The expression language: what it computes, what it refuses, and that it never evaluates Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.networks.language.expression import compile_expression
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from estimator.networks.language.tokens import Value

NAMES: dict[str, Value] = {
    "d": 768,
    "heads": 12,
    "widths": (64, 128, 256),
    "kind": "gelu",
    "deep": True,
    "p": 0.5,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4 * d", 3072), ("d // heads", 64), ("d / heads", 64.0), ("d % 100", 68), ("2 - 3 - 4", -5),
        ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("-d + 1", -767), ("-2 * -3", 6), ("- -1", 1),
        ("-7 // 2", -4),
        ("widths[1]", 128), ("widths[-1]", 256), ("[8, 16][1]", 16), ("[1, 2][0] + widths[heads - 11]", 129),
        ("max(widths)", 256), ("min(d, 3, 4)", 3), ("len(widths)", 3), ("ceil(7.1)", 8), ("round(7.6)", 8),
        ("int(7.9)", 7), ("int(-7.9)", -7), ("ceil(d / 1000 * 8)", 7), ("1e3", 1000.0), (".5", 0.5),
        ("d > 5", True), ("d == 768 and not heads == 3", True), ("1 > 2 or 2 > 1", True),
        ("kind == 'gelu'", True),
        ('kind != "gelu"', False), ("1 if deep else 2", 1), ("1 if d < 5 else 2 if d < 6 else 3", 3),
        ("'a' if heads % 2 else 'b'", "b"), ("true", True), ("not 1 + 1", False), ("not not 1", True),
        ("1 if p else 1 // 0", 1), ("deep or 1 // 0", True), ("max(1, 2,)", 2),
    ],
)  # fmt: skip
def test_values(text: str, value: Value) -> None:
    found = compile_expression(text).evaluate(NAMES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("9**9**9", "uses '**'"),
        ("d.real", "attributes"),
        ("__import__('os')", "unknown function '__import__'"),
        ("(lambda: 1)()", "which an expression may not"),
        ("open('x')", "unknown function 'open'"),
        ("widths[0:1]", "slices"),
        ("d = 3", "write =="),
        ("d & 3", "write: and"),
        ("`d`", "which an expression may not"),
        ("foo", "unknown name 'foo'"),
        ("head", "did you mean 'heads'?"),
        ("mx(1, 2)", "did you mean 'max'?"),
        ("8 // 0", "division by zero"),
        ("8 / 0", "division by zero"),
        ("8 % 0", "division by zero"),
        ("widths[3]", "a list of 3 has no item 3"),
        ("widths[0.5]", "whole number"),
        ("widths + widths", "needs numbers"),
        ("'ab' * 1000", "needs numbers"),
        ("d[0]", "needs a list"),
        ("len(d)", "needs a list"),
        ("max([])", "at least one number"),
        ("max()", "cannot take 0"),
        ("int(1, 2)", "cannot take 2"),
        ("1 < 2 < 3", "write: a < b and b < c"),
        ("4611686018427387904", "out of range"),
        ("4611686018427387903 + 1", "2^62"),
        ("1e30", "out of range"),
        ("-4611686018427387903 * 2", "2^62"),
        ("'a' < 1", "needs numbers"),
        ("1 if kind else 2", "a condition must be"),
        ("true + 1", "needs numbers"),
        ("1 +", "ends too early"),
        ("1 if deep", "ends too early"),
        ("(1", "ends too early"),
        ("1)", "not expected"),
        ("1 2", "not expected"),
        ("", "empty"),
        ("'abc", "which an expression may not"),
        ("(" * 30 + "1" + ")" * 30, "nested deeper"),
        ("-" * 100 + "1", "nested deeper"),
        ("1" + "+1" * 100, "too long"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text).evaluate(NAMES)
    assert says in f"{caught.value.message}; {caught.value.hint}"


@given(st.text(alphabet="d1 2.+-*/%<>=!()[],'iforelsandt_mx", max_size=60))
def test_no_text_does_anything_but_give_a_value_or_a_clean_error(text: str) -> None:
    try:
        value = compile_expression(text).evaluate(NAMES)
    except ExpressionError:
        return
    if isinstance(value, int | float):
        assert math.isfinite(value)
        assert abs(value) < 2**62 or text.strip().startswith("[")


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
def test_whole_arithmetic_is_exact(a: int, b: int, c: int) -> None:
    found = compile_expression("(a * b + c) // c * c + (a * b + c) % c").evaluate({"a": a, "b": b, "c": c})
    assert found == a * b + c
