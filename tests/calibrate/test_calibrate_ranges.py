from __future__ import annotations

import pytest

from estimator.calibrate.ranges import Residual, folds, spreads_of
from estimator.predict.interval import Tier, half_width


def rows(scale: float, tier: Tier = Tier.KNOWN_ARCHITECTURE) -> list[Residual]:
    return [
        Residual(
            kind="gpu", precision="fp32", tier=tier, unusual=False, group=f"d{i % 7}", error=scale * i / 100
        )
        for i in range(-100, 101)
    ]


def test_groups_are_dealt_out_evenly_and_always_the_same_way() -> None:
    groups = ["a"] * 50 + ["b"] * 20 + ["c"] * 20 + ["d"] * 5
    dealt = folds(groups, 3)
    assert dealt == [{"a"}, {"b", "d"}, {"c"}]
    assert folds(groups[::-1], 3) == dealt
    assert folds(["a", "a"], 8) == [{"a"}]


def test_a_range_covers_a_little_more_than_it_claims() -> None:
    spreads = spreads_of(rows(1.0), "test")
    assert half_width(spreads["known architecture"], 0.8) == pytest.approx(0.82, abs=0.01)
    assert set(spreads) == {
        "gpu/fp32/known architecture/ordinary", "gpu/fp32/known architecture",
        "gpu/known architecture/ordinary", "gpu/known architecture", "known architecture/ordinary",
        "known architecture",
    }  # fmt: skip


def test_a_stratum_needs_rows_of_several_groups() -> None:
    assert spreads_of(rows(1.0)[:30], "test") == {}
    assert spreads_of([r for r in rows(1.0) * 3 if r.group == "d1"], "test") == {}
