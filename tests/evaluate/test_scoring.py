"""Errors and ranks against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimator.app.scoring import Times, rank_devices, score, score_groups


def times(ratios: list[float], width: float = 1.2) -> Times:
    measured = np.full(len(ratios), 2.0)
    expected = measured * np.array(ratios)
    return Times(low=expected / width, expected=expected, high=expected * width, measured=measured)


def test_errors_of_five_rows() -> None:
    found = score(times([1.0, 1.08, 0.8, 1.5, 3.0]))
    assert found is not None
    assert found.n == 5
    assert found.mape == pytest.approx((0 + 0.08 + 0.2 + 0.5 + 2.0) / 5)
    assert found.median_ape == pytest.approx(0.2)
    assert found.p90_ape == pytest.approx(0.5 + 0.6 * 1.5)
    assert (found.within_10, found.within_25, found.within_50) == pytest.approx((0.4, 0.6, 0.8))
    assert found.within_2x == pytest.approx(0.8)
    assert found.median_log_ratio == pytest.approx(math.log(1.08))
    assert found.coverage_80 == pytest.approx(0.4)


def test_no_rows_no_score() -> None:
    assert score(times([])) is None


def test_groups_come_largest_first() -> None:
    found = score_groups(times([1.1, 1.0, 1.3]), ["b", "a", "a"])
    assert list(found) == ["a", "b"]
    assert found["b"].mape == pytest.approx(0.1)


def test_order_of_devices_in_one_group() -> None:
    found = rank_devices(
        measured=np.array([1.0, 2.0, 3.0, 4.0]),
        expected=np.array([1.0, 3.0, 2.0, 4.0]),
        groups=["n"] * 4,
        devices=["a", "b", "c", "d"],
    )
    assert (found.groups, found.best_right) == (1, 1.0)
    assert found.kendall_tau == pytest.approx((5 - 1) / 6)


def test_close_devices_do_not_count_against_the_order_of_distant_ones() -> None:
    found = rank_devices(
        measured=np.array([1.00, 1.05, 2.0, 4.0]),
        expected=np.array([1.05, 1.00, 2.0, 4.0]),
        groups=["n"] * 4,
        devices=["a", "b", "c", "d"],
    )
    assert found.kendall_tau == pytest.approx(4 / 6)
    assert (found.kendall_tau_apart, found.best_right) == (1.0, 0.0)


def test_the_fastest_row_stands_for_a_device_and_three_devices_are_no_group() -> None:
    found = rank_devices(
        measured=np.array([9.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0]),
        expected=np.array([1.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0]),
        groups=["n"] * 5 + ["m"] * 3,
        devices=["a", "a", "b", "c", "d", "a", "b", "c"],
    )
    assert (found.groups, found.kendall_tau) == (1, 1.0)


def test_no_group_no_rank() -> None:
    empty = np.array([])
    found = rank_devices(measured=empty, expected=empty, groups=[], devices=[])
    assert (found.groups, found.kendall_tau, found.best_right) == (0, None, None)
