"""Money, energy, trials and the front, on figures worked out by hand."""

from __future__ import annotations

import random

import pytest

from estimator.planning.choice import CHEAPEST, FASTEST, Constraints, choose, nearest_miss, rule_of
from estimator.planning.energy import Overheads, co2_g
from estimator.planning.money import Use, break_even_hours, owned_per_hour, running_per_hour
from estimator.planning.option import Option, Way
from estimator.planning.pareto import front
from estimator.planning.trials import Trials


def test_an_hour_of_a_bought_machine() -> None:
    """1,460 over 100 h a month for 36 months is 0.4056 an hour; 500 W at 0.30 are 0.15 more."""
    use = Use(hours_per_month=100, months=36)
    running = running_per_hour(500, 0.30)
    assert running == pytest.approx(0.15)
    assert owned_per_hour(1460, use, running) == pytest.approx(0.5556, abs=1e-4)


def test_break_even() -> None:
    assert break_even_hours(2000, 1.10, 0.10) == pytest.approx(2000)
    assert break_even_hours(2000, 0.10, 0.15) is None


def test_power() -> None:
    """300 W boards: 0.9 x 300 W busy, 0.2 x 300 W waiting, half of each; 0.4 more host; 1.5 cooling."""
    overheads = Overheads(busy=0.9, waiting=0.2, host=0.4, cooling=1.5)
    assert overheads.average_w(300, 0.5) == pytest.approx(165 * 1.4 * 1.5)
    assert overheads.most_w(300) == pytest.approx(420)
    assert co2_g(3.6e6, 380) == pytest.approx(380)


def test_trials() -> None:
    assert Trials(count=10).experiment_s(60, 200, devices=4) == 600
    assert Trials(count=10, parallel=True).experiment_s(60, 200, devices=4) == 600  # three rounds of 200 s


def test_front_by_hand() -> None:
    times = [1.0, 2.0, 3.0, 4.0, 2.0]
    costs = [10.0, 5.0, 6.0, None, 7.0]
    assert front(times, costs) == [True, True, False, False, False]


def test_front_is_what_nothing_beats() -> None:
    chance = random.Random(1)  # noqa: S311 - points, no secrets
    for _ in range(50):
        points = [(chance.randint(1, 9), chance.randint(1, 9)) for _ in range(12)]
        on = front([float(t) for t, _ in points], [float(c) for _, c in points])
        for (time, cost), is_on in zip(points, on, strict=True):
            beaten = any(t <= time and c <= cost and (t, c) != (time, cost) for t, c in points)
            assert is_on <= (not beaten)
        kept = {point for point, is_on in zip(points, on, strict=True) if is_on}
        best = {
            (t, c) for t, c in points if not any(a <= t and b <= c and (a, b) != (t, c) for a, b in points)
        }
        assert kept == best


def option(name: str, hours: float, cost: float | None, **more: object) -> Option:
    seconds = hours * 3600
    values: dict[str, object] = {
        "way": Way.RENT, "device": name, "kind": "gpu", "count": 1, "run_s": seconds, "experiment_s": seconds,
        "low_s": seconds * 0.8, "high_s": seconds * 1.25, "fits": True, "memory_bytes": 10**9,
        "power_w": 500.0, "per_run": cost, "per_experiment": cost,
    }  # fmt: skip
    return Option(name=name, **{**values, **more})  # type: ignore[arg-type]


FAST, SLOW = option("fast", 1, 100.0), option("slow", 10, 20.0)


def test_the_rule_follows_the_question() -> None:
    assert rule_of(Constraints(deadline_s=1)) == CHEAPEST
    assert rule_of(Constraints(deadline_s=1, budget=1)) == CHEAPEST
    assert rule_of(Constraints(budget=1)) == FASTEST
    assert rule_of(Constraints()) == CHEAPEST


@pytest.mark.parametrize(
    ("constraints", "name"),
    [
        (Constraints(), "slow"),
        (Constraints(deadline_s=7200), "fast"),
        (Constraints(budget=1000), "fast"),
        (Constraints(budget=50), "slow"),
        (Constraints(budget=50, deadline_s=7200), None),
        (Constraints(max_memory_bytes=10**8), None),
        (Constraints(power_cap_w=400), None),
    ],
)
def test_choice(constraints: Constraints, name: str | None) -> None:
    choice = choose([FAST, SLOW], constraints)
    assert (choice.chosen.name if choice else None) == name


def test_what_does_not_fit_or_has_no_price_is_never_chosen() -> None:
    options = [
        option("large", 1, 1.0, fits=False),
        option("unknown", 1, 1.0, fits=None),
        option("free", 1, None),
    ]
    assert choose(options, Constraints()) is None
    assert nearest_miss(options, Constraints()) is None


def test_a_bought_machine_must_be_paid_in_full() -> None:
    bought = option("bought", 1, 2.0, way=Way.BUY, buy=6000.0)
    assert choose([bought], Constraints(budget=5000)) is None
    assert choose([bought], Constraints(budget=6000)) is not None


def test_a_near_rival_makes_a_choice_unsure_and_a_far_one_does_not() -> None:
    near = choose([option("a", 10, 20.0), option("b", 10, 25.0)], Constraints())
    far = choose([option("a", 10, 20.0), option("b", 10, 80.0)], Constraints())
    assert near is not None
    assert far is not None
    assert (near.robust, near.robust_together, [o.name for o in near.rivals]) == (False, True, ["b"])
    assert (far.robust, far.rivals) == (True, ())


def test_a_choice_that_may_miss_the_deadline_is_unsure() -> None:
    choice = choose([option("a", 10, 20.0)], Constraints(deadline_s=11 * 3600))
    assert choice is not None
    assert not choice.robust
    assert not choice.robust_together


def test_nearest_miss_is_the_smallest_of_the_largest_excesses() -> None:
    """Fast is twice the budget, slow five times the deadline."""
    missed = nearest_miss([FAST, SLOW], Constraints(budget=50, deadline_s=7200))
    assert missed is not None
    assert missed[0].name == "fast"
    assert missed[1] == {"budget": 2.0}
