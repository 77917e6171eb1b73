"""The safe reader: what is read, what is refused, and where it says so."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.excerpts import describe, excerpt, remember
from estimator.catalog.yaml_reader import read_document
from estimator.document import ListNode, MapNode, Scalar
from estimator.errors import CombinedInputError, InputError, Location

if TYPE_CHECKING:
    from estimator.document import Node


def plain(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {key.value: plain(value) for key, value in node.entries}


def read(text: str) -> object:
    return plain(read_document(text, "net.yaml"))


def refusals(text: str) -> list[InputError]:
    with pytest.raises(InputError) as caught:
        read_document(text, "net.yaml")
    error = caught.value
    return list(error.errors) if isinstance(error, CombinedInputError) else [error]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("y", "y"), ("true", True), ("False", False), ("tRue", "tRue"),
        ("null", None), ("~", None), ("", None), ("1e-3", 1e-3), ("1E5", 1e5), ("5.", 5.0), (".5", 0.5),
        ("-7", -7), ("+7", 7), ("0", 0), ("0o17", 15), ("0x1f", 31), ("1_000", "1_000"), ("1:30", "1:30"),
        ("0b11", "0b11"), ("2012-01-02", "2012-01-02"), ("'1'", "1"), ('"no"', "no"), ("!!str 5", "5"),
        ("${a + 1}", "${a + 1}"), ("$seq", "$seq"), ("-.inf", -math.inf), ("999999999999999999", 10**18 - 1),
        ("1.2.3", "1.2.3"), ("-", "-"), ("'<<'", "<<"),
    ],
)  # fmt: skip
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    if text == "-":
        text = "'-'"
    found = read(f"a: {text}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_not_a_number_is_read_as_such() -> None:
    found = read("a: .nan")
    assert isinstance(found, dict)
    assert math.isnan(found["a"])


def test_every_value_knows_its_place() -> None:
    root = read_document("a: 1\nb:\n  - {c: x}\n", "net.yaml")
    assert isinstance(root, MapNode)
    listed = root.get("b")
    assert isinstance(listed, ListNode)
    item = listed.items[0]
    assert isinstance(item, MapNode)
    assert str(item.at) == "net.yaml:3:5"
    value = item.get("c")
    assert value is not None
    assert str(value.at) == "net.yaml:3:9"
    assert list(root.keys()) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("a: 010", "1:4", "leading 0"),
        ("a: 1234567890123456789", "1:4", "19 digits"),
        ("a: 0x" + "f" * 40, "1:4", "out of range"),
        ("a: 1e999", "1:4", "too large"),
        ("a: 1e-999", "1:4", "too small"),
        ("a: 0." + "1" * 90, "1:4", "92 characters"),
        ("a: {x: 1, x: 2}", "1:11", "given twice"),
        ("a: 1\n'a': 2", "2:1", "first in line 1"),
        ("d: &d {k: 1}\na: {<<: *d}", "2:5", "merge keys"),
        ("a: &a [*a]", "1:8", "own anchor"),
        ("a: &a {b: {c: *a}}", "1:15", "own anchor"),
        ("a: *b", "1:4", "no anchor"),
        ("a: !!python/object/apply:os.system ['echo hi']", "1:4", "!!python/object/apply:os.system"),
        ("a: !!int 4", "1:4", "!!int"),
        ("a: !!map [1]", "1:4", "!!map"),
        ("a: !mine 4", "1:4", "!mine"),
        ("? [a]\n: 1", "1:3", "a key must be text"),
        ("a: &k x\n*k : 1", "2:1", "a key must be text"),
        ("'': 1", "1:1", "a key is missing"),
        ("a: 1\n---\nb: 2", "2:1", "second document"),
        ("a: {b: 1", "1:4", "before the end of the text"),
        ("a:\n\t- b", "2:1", "indent with spaces"),
        ("a: {b: ${c}}", "1:9", "needs quotes"),
        ("a: b: c", "1:5", "not valid YAML"),
        ("a: @x", "1:4", "starts with '@'"),
        ("", "1:1", "empty"),
        ("# only a comment\n", "1:1", "empty"),
        ("a: \x00", "1:4", "U+0000"),
        ("a: 1\nb: \ud800", "2:4", "U+D800"),
        ("a: " + "[" * 65, "1:67", "64 levels"),
        ("a: " + "[" * 5000, "1:1003", "too deep"),
        ("\n".join(f"{'  ' * depth}a:" for depth in range(100)), "65:129", "64 levels"),
        ("a: [" + "1," * 200_001 + "]", "1:399999", "200,000 values"),
        ("a: '" + "x" * 2**22 + "'", "1:1", "4 MiB"),
        ("a: '" + "€" * 2**21 + "'", "1:1", "4 MiB"),
    ],
)
def test_what_is_refused_is_refused_with_its_place(text: str, place: str, part: str) -> None:
    (error,) = refusals(text)
    assert str(error).startswith(f"net.yaml:{place}: ")
    assert part in str(error)


def test_all_errors_of_a_text_are_told_at_once() -> None:
    errors = refusals("a: 010\nb: {x: 1, x: 2}\nc: !!int 4\nd: *e\n")
    assert [error.at.line for error in errors if error.at] == [1, 2, 3, 4]


def test_a_text_of_errors_does_not_become_a_book() -> None:
    assert len(refusals("a: [" + "010, " * 5000 + "]")) <= 101


def test_an_alias_bomb_is_refused_at_once() -> None:
    names = "abcdefghij"
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in pairwise(names)
    )
    started = time.process_time()
    (error,) = refusals(bomb)
    assert "100,000" in str(error)
    assert time.process_time() - started < 1


def test_aliases_stand_for_their_anchor() -> None:
    assert read("a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]") == {
        "a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": [{"b": [1, 2]}, {"b": [1, 2]}],
    }  # fmt: skip


def test_a_byte_order_mark_at_the_start_is_no_error() -> None:
    assert read("\ufeffa: 1") == {"a": 1}


def test_a_large_text_is_read_in_good_time() -> None:
    layer = "  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}\n"
    started = time.process_time()
    read_document("layers:\n" + layer * 20_000, "net.yaml")
    assert time.process_time() - started < 3


def test_the_excerpt_puts_a_caret_under_the_place() -> None:
    text = "layers:\n  - {type: Conv2D}\n"
    assert excerpt(text, Location("net.yaml", 2, 12)) == (
        "    2 |   - {type: Conv2D}\n"
        "      |            ^"
    )  # fmt: skip
    assert excerpt(text, Location("net.yaml", 9, 1)) == ""


def test_the_excerpt_of_a_long_line_shows_the_place() -> None:
    shown = excerpt("x" * 5000 + "!" + "y" * 5000, Location("net.yaml", 1, 5001))
    line, caret = shown.splitlines()
    assert line[caret.index("^")] == "!"
    assert len(line) < 120


def test_the_caret_keeps_its_column_behind_tabs_and_wide_characters() -> None:
    assert excerpt("\t層: 1", Location("n", 1, 5)).splitlines()[1] == "      |      ^"


def test_errors_are_shown_with_the_lines_of_the_texts_that_were_read() -> None:
    text = "a: 010\nb: 020\n"
    remember("net.yaml", text)
    with pytest.raises(InputError) as caught:
        read_document(text, "net.yaml")
    assert describe(caught.value).splitlines()[1:3] == ["    1 | a: 010", "      |    ^"]


def test_an_error_in_a_text_nobody_kept_is_shown_without_a_line() -> None:
    error = InputError("bad", at=Location("elsewhere.yaml", 1, 1))
    assert describe(error) == "elsewhere.yaml:1:1: bad"
