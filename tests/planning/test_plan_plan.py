"""A plan chooses by the constraints, from predictions and dated prices that can be traced."""

from __future__ import annotations

import io
import json
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from estimator.app.fleet_runs import Length, device_steps, run_time
from estimator.app.plan_systems import system_of
from estimator.app.prediction import predict_named
from estimator.app.request import Request, training_of
from estimator.app.source import open_network
from estimator.app.systems import local_system
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import all_devices, load_device

if TYPE_CHECKING:
    from tests.planning.conftest import Run

QUICK = ("-d", "RTX 4090", "-d", "RTX 3090", "-d", "A100-SXM-80GB", "-d", "xeon-platinum-8488c")
RUN = ("resnet50", "-p", "amp", "--epochs", "90")


def planned(run: Run, *arguments: str, code: int = 0) -> dict[str, Any]:
    result = run("plan", *arguments, "-f", "json")
    assert result.exit_code == code, result.output
    text = result.output[: result.output.rindex("}") + 1]
    data: dict[str, Any] = json.loads(text)
    schema = json.loads(files("estimator").joinpath("results/schemas/plan.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    return data


def find(data: dict[str, Any], system: str, way: str = "buy") -> dict[str, Any]:
    return next(c for c in data["candidates"] if (c["system"], c["way"]) == (system, way))


@pytest.mark.parametrize("network", ["resnet18", "bert_base", "mlp_mnist"])
def test_runs_of_a_fleet_are_what_predict_says(network: str) -> None:
    described = open_network(network, (), io.BytesIO())
    request = Request(network=network, batch=8, samples=10_007, epochs=2.5)
    training = training_of(request, described.training)
    devices = [load_device(n) for n in ("rtx-4090", "gtx-1080", "a100-sxm-80gb", "i7-6700k", "t4")]
    calibration = load_calibration()
    steps, _ = device_steps(described.network, training, devices, calibration, coverage=0.8)
    for device, step in zip(devices, steps, strict=True):
        assert step is not None
        for count in (1, 4):
            named = local_system(device, count=count, link=None)
            found = run_time(step, named.system, Length(samples=10_007, epochs=2.5), calibration)
            (one,), _ = predict_named(described.network, request, training, [named], calibration)
            assert found.run_s == pytest.approx(one.total_s, rel=1e-9)
            assert one.total_range_s is not None
            low, high = found.run_s * found.low, found.run_s * found.high
            assert (low, high) == pytest.approx((one.total_range_s.low, one.total_range_s.high))
            assert step.memory_bytes == one.memory.total_bytes


def test_a_batch_that_does_not_fit_is_split() -> None:
    described = open_network("resnet50", (), io.BytesIO())
    training = training_of(Request(network="resnet50", batch=512), described.training)
    small, large = load_device("rtx-2060"), load_device("a100-sxm-80gb")
    steps, _ = device_steps(described.network, training, [small, large], load_calibration(), coverage=0.8)
    first, second = steps
    assert first is not None
    assert second is not None
    assert first.fits
    assert (first.batch * first.accumulation, second.batch * second.accumulation) == (512, 512)
    assert (first.accumulation, second.accumulation) == (16, 1)


def test_every_device_in_four_numbers_takes_two_seconds() -> None:
    described = open_network("resnet50", (), io.BytesIO())
    training = training_of(Request(network="resnet50"), described.training)
    devices, calibration = all_devices(), load_calibration()
    length = Length(samples=1_281_167, epochs=90)
    start = time.process_time()
    steps, _ = device_steps(described.network, training, devices, calibration, coverage=0.8)
    count = 0
    for step in filter(None, steps):
        for number in (1, 2, 4, 8):
            system = system_of(step.device, number, None)
            if system is not None:
                run_time(step, system, length, calibration)
                count += 1
    assert count > 1400
    assert time.process_time() - start < 4  # 1 s alone; leaves room for a busy machine


def test_the_budget_buys_the_fastest_it_can_pay(run: Run) -> None:
    data = planned(run, *RUN, *QUICK, "--budget", "5000", "--ways", "buy")
    chosen = find(data, data["recommendation"]["system"])
    assert chosen["cost"]["buy"] <= 5000
    payable = [c for c in data["candidates"] if c["cost"]["buy"] and c["cost"]["buy"] <= 5000 and c["fits"]]
    assert chosen["time_s"] == min(c["time_s"] for c in payable)
    assert "fastest within the budget of 5,000 USD" in data["recommendation"]["reason"]


def test_the_deadline_takes_the_cheapest_in_time(run: Run) -> None:
    data = planned(run, *RUN, *QUICK, "--deadline", "12h")
    chosen = find(data, data["recommendation"]["system"], data["recommendation"]["way"])
    assert chosen["experiment_s"] <= 12 * 3600
    in_time = [
        c["cost"]["per_experiment"]
        for c in data["candidates"]
        if c["experiment_s"] <= 12 * 3600 and c["fits"] and c["cost"]["per_experiment"]
    ]
    assert chosen["cost"]["per_experiment"] == min(in_time)


def test_costs_add_up_from_dated_figures(run: Run) -> None:
    """2 RTX 4090 at 1,417.20 over 200 h x 24 months, and 0.30 a kWh for what they draw."""
    data = planned(
        run, *RUN, "-d", "RTX 4090", "--ways", "buy", "--electricity-price", "0.30", "--cooling", "1",
        "--hours-per-month", "200", "--months", "24",
    )  # fmt: skip
    two = find(data, "2x rtx-4090")
    assert two["cost"]["buy"] == pytest.approx(2834.4)
    assert (two["cost"]["as_of"], two["cost"]["currency"]) == ("2025-03-03", "USD")
    hours, kwh = two["time_s"] / 3600, two["energy_j"] / 3.6e6
    assert two["cost"]["per_run"] == pytest.approx(hours * 2834.4 / 4800 + kwh * 0.30)
    assert two["power_w"] == pytest.approx(2 * 450 * 1.4)
    assert 0.5 * two["power_w"] < two["energy_j"] / two["time_s"] < two["power_w"]


def test_missing_prices_are_null_and_never_chosen(run: Run) -> None:
    data = planned(run, *RUN, "-d", "mi355x", "-d", "RTX 4090", "--ways", "buy")
    unknown = find(data, "1x mi355x")
    assert unknown["cost"]["buy"] is None
    assert unknown["cost"]["per_run"] is None
    assert not unknown["on_front"]
    assert data["recommendation"]["system"].endswith("rtx-4090")


def test_a_price_of_ones_own_goes_first(run: Run) -> None:
    data = planned(run, *RUN, "-d", "RTX 4090", "--ways", "buy", "--price", "RTX 4090=2000")
    one = find(data, "1x rtx-4090")
    assert (one["cost"]["buy"], one["cost"]["as_of"]) == (2000, "2025-06-01")


def test_no_conversion_without_a_dated_rate(run: Run) -> None:
    yen = ("-d", "RTX 4090", "--ways", "buy", "--currency", "JPY", "--electricity-price", "30")
    data = planned(run, *RUN, *yen, code=1)
    assert find(data, "1x rtx-4090")["cost"]["buy"] is None
    assert any("give a dated --rate" in warning for warning in data["warnings"])
    data = planned(run, *RUN, *yen, "--rate", "USD:JPY=150@2025-05-01")
    assert find(data, "1x rtx-4090")["cost"]["buy"] == pytest.approx(1417.2 * 150)
    assert any(a["what"] == "USD in JPY" and "2025-05-01" in a["why"] for a in data["assumptions"])


def test_break_even_by_hand(run: Run) -> None:
    data = planned(run, *RUN, "-d", "A100-SXM-80GB", "--devices", "1,8", "--electricity-price", "0.2")
    even = data["break_even"]
    assert even["buy"] == pytest.approx(even["devices"] * 17499)
    saved = even["rent_per_hour"] - even["electricity_per_hour"]
    assert even["hours"] == pytest.approx(even["buy"] / saved)
    assert even["months"] == pytest.approx(even["hours"] / 365)


def test_trials_side_by_side_do_without_the_exchange(run: Run) -> None:
    common = (*RUN, "-d", "RTX 3090", "--devices", "1,4", "--ways", "buy", "--trials", "8")
    after, beside = planned(run, *common), planned(run, *common, "--parallel")
    one = find(after, "1x rtx-3090")["time_s"]
    assert find(after, "4x rtx-3090")["experiment_s"] > 8 * one / 4
    assert find(beside, "4x rtx-3090")["experiment_s"] == pytest.approx(2 * one)
    assert find(beside, "4x rtx-3090")["cost"]["per_experiment"] == pytest.approx(
        8 * find(beside, "4x rtx-3090")["cost"]["per_run"]
    )


def test_several_networks_by_weight(run: Run) -> None:
    common = ("-d", "RTX 4090", "--ways", "buy", "--devices", "1", "--samples", "100000", "--epochs", "1")
    first = find(planned(run, "resnet18", *common), "1x rtx-4090")["time_s"]
    second = find(planned(run, "bert_base", *common), "1x rtx-4090")["time_s"]
    both = find(planned(run, "resnet18", "bert_base=3", *common), "1x rtx-4090")["time_s"]
    assert both == pytest.approx(first + 3 * second)


def test_cpu_servers_cost_many_times_what_gpus_do(run: Run) -> None:
    data = planned(run, *RUN, *QUICK)
    against = data["cpu_against_gpu"]
    assert against["cost_ratio"] == pytest.approx(against["cpu_cost"] / against["gpu_cost"])
    assert against["cost_ratio"] > 4
    assert any(c["kind"] == "cpu" and c["devices"] == 8 for c in data["candidates"])


def test_this_machine_is_a_candidate_and_so_is_what_one_owns(run: Run) -> None:
    data = planned(run, *RUN, "-d", "RTX 4090", "--owned", "2x GTX 1080 Ti")
    own = find(data, "2x GTX 1080 Ti", "own")
    assert own["cost"]["buy"] is None
    assert own["cost"]["per_run"] == pytest.approx(own["cost"]["electricity_per_run"])


def test_nothing_meets_the_constraints(run: Run) -> None:
    data = planned(run, *RUN, *QUICK, "--deadline", "1min", code=1)
    assert data["recommendation"] is None
    miss = data["nearest_miss"]
    assert set(miss["misses"]) == {"deadline"}
    usable = [c for c in data["candidates"] if c["fits"] and c["cost"]["per_experiment"]]
    assert miss["misses"]["deadline"] == pytest.approx(min(c["misses"]["deadline"] for c in usable))
    shown = run("plan", *RUN, *QUICK, "--deadline", "1min")
    assert shown.output.startswith("nothing meets the constraints; the nearest, ")


def test_the_front_is_fast_to_cheap(run: Run) -> None:
    data = planned(run, *RUN, *QUICK)
    front = [c for c in data["candidates"] if c["on_front"]]
    costs = [c["cost"]["per_experiment"] for c in front]
    assert [c["experiment_s"] for c in front] == sorted(c["experiment_s"] for c in front)
    assert costs == sorted(costs, reverse=True)


def test_the_screen_answers_first(run: Run) -> None:
    lines = run("plan", *RUN, *QUICK, "--budget", "5000", "--ways", "buy").output.splitlines()
    assert lines[0].startswith("buy ")
    assert "80 % range" in lines[1]
    assert "price of 2025-03" in lines[1]
    assert lines[2].startswith("why: the fastest within the budget")
    assert lines[3].startswith("how sure: ")
    assert lines[-1].startswith("next: estimator ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", "-5"), "--budget: cannot read"),
        (("--budget", "0"), "--budget: cannot read"),
        (("--budget", "5 GBP"), "no dated rate turns GBP into USD"),
        (("--region", "Narnia"), "unknown region"),
        (("--parallel",), "--trials"),
        (("--steps", "5", "--epochs", "2"), "both say how long"),
        (("--ways", "bui"), "did you mean 'buy'"),
        (("--ways", "buy", "--owned", "T4"), "--ways leaves out"),
        (("--deadline", "soon"), "as a time"),
        (("--power-cap", "much"), "as power"),
        (("--devices", "0"), "from 1"),
        (("--price", "RTX 4090"), "--price: cannot read"),
        (("--price", "RTX 4099=1"), "did you mean"),
        (("--rate", "EUR:USD=1@May"), "not a date"),
        (("--device", "RTX 4099"), "did you mean"),
    ],
)
def test_mistakes_are_explained(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("plan", "resnet50", *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output


def test_a_deadline_needs_a_length(run: Run) -> None:
    result = run("plan", "gpt2", "--deadline", "12h")
    assert result.exit_code == 2
    assert "--steps" in result.output
