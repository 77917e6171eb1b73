"""Axes hold their values, and their ticks are few and round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.report.plots.scale import scale_of

POSITIVE = st.floats(min_value=1e-9, max_value=1e15)


def figure(values: list[float], axis: Axis) -> Figure:
    marks = tuple(Mark(x=value, y=1.0) for value in values)
    other = Axis(label="y", quantity=Quantity.COUNT)
    return Figure(name="f", title="f", summary="f", x=axis, y=other, series=(Series(name="s", marks=marks),))


@given(
    values=st.lists(POSITIVE, min_size=1, max_size=8),
    log=st.booleans(),
    binary=st.booleans(),
    quantity=st.sampled_from([Quantity.SECONDS, Quantity.COUNT, Quantity.FLOP_PER_S, Quantity.MONEY]),
)
def test_every_value_and_tick_stands_within_the_limits(
    values: list[float], *, log: bool, binary: bool, quantity: Quantity
) -> None:
    scale = scale_of(figure(values, Axis(label="x", quantity=quantity, log=log, binary=binary)), "x")
    for value in values:
        assert -1e-9 <= scale.place(value) <= 1 + 1e-9
    for tick, text in scale.ticks:
        assert -1e-6 <= scale.place(tick) <= 1 + 1e-6
        assert text
    assert len(scale.ticks) <= 16


@pytest.mark.parametrize(
    ("quantity", "values", "log", "texts"),
    [
        (Quantity.SECONDS, [0.001, 1.0], True, {"1 ms", "10 ms", "100 ms", "1 s"}),
        (Quantity.SECONDS, [60.0, 86400.0], True, {"60 s", "10 h"}),
        (Quantity.COUNT, [0.0, 1800.0], False, {"0", "500", "1 k", "1.5 k", "2 k"}),
        (Quantity.FLOP_PER_S, [1e11, 1e14], True, {"100 G", "1 T", "10 T", "100 T"}),
    ],
)
def test_ticks_are_what_a_person_would_write(
    quantity: Quantity, values: list[float], *, log: bool, texts: set[str]
) -> None:
    scale = scale_of(figure(values, Axis(label="x", quantity=quantity, log=log)), "x")
    assert texts <= {text for _, text in scale.ticks}


def test_batches_get_powers_of_two() -> None:
    axis = Axis(label="batch", quantity=Quantity.COUNT, log=True, binary=True)
    scale = scale_of(figure([1.0, 1024.0], axis), "x")
    assert all(tick == 2 ** round(tick).bit_length() / 2 or tick < 1 for tick, _ in scale.ticks)


def test_money_carries_its_currency() -> None:
    axis = Axis(label="cost", quantity=Quantity.MONEY, currency="$")
    assert {"$20", "$40"} <= {text for _, text in scale_of(figure([90.0], axis), "x").ticks}
