"""Ranges and lists become the values a person reads out of them."""

from __future__ import annotations

import pytest

from estimator.app.axes import Axis, parse_axis, points
from estimator.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64", (64,)),
        ("32,64,128", (32, 64, 128)),
        ("32..1024*2", (32, 64, 128, 256, 512, 1024)),
        ("1..8+1", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("1..4", (1, 2, 3, 4)),
        ("8..64+8", (8, 16, 24, 32, 40, 48, 56, 64)),
        ("1,2,8..32*2", (1, 2, 8, 16, 32)),
        ("100..1000*3", (100, 300, 900)),
        ("1..6*1.5", (1, 2, 3, 4, 6)),
    ],
)
def test_numbers(text: str, values: tuple[int, ...]) -> None:
    assert parse_axis("batch", text, numbers=True).values == values


def test_words_and_lists_in_brackets() -> None:
    assert parse_axis("precision", "fp32,amp").values == ("fp32", "amp")
    assert parse_axis("set widths", "[64, 128],[32]").values == ("[64, 128]", "[32]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "missing"), ("1,,2", "missing"), ("0", "from 1"), ("-4", "from 1"), ("x", "whole number"),
        ("4..1", "empty"), ("0..4", "empty"), ("1..9*1", "never ends"), ("1..9+0", "never ends"),
        ("1..9+1.5", "never ends"), ("2..", "as a range"), ("1,1", "twice"), ("1..99999999", "more than"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_axis("batch", text, numbers=True)


def test_combined_and_side_by_side() -> None:
    axes = [Axis(name="a", values=(1, 2)), Axis(name="b", values=("x", "y")), Axis(name="c", values=(9,))]
    assert len(list(points(axes, zipped=False))) == 4
    assert list(points(axes, zipped=True)) == [{"a": 1, "b": "x", "c": 9}, {"a": 2, "b": "y", "c": 9}]


def test_lists_of_different_length_do_not_stand_side_by_side() -> None:
    with pytest.raises(InputError, match="differ in length"):
        list(points([Axis(name="a", values=(1, 2)), Axis(name="b", values=(1, 2, 3))], zipped=True))


def test_too_many_points_are_refused_before_they_are_made() -> None:
    thousand = tuple(range(1, 1002))
    with pytest.raises(InputError, match="are more than"):
        points([Axis(name="a", values=thousand), Axis(name="b", values=thousand)], zipped=False)
