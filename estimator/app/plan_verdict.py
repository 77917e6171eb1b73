"""From worked-out offers to the answer: front, recommendation, break-even, nearest miss, CPU against GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.planning.choice import CHEAPEST, choose, nearest_miss
from estimator.planning.energy import co2_g
from estimator.planning.money import break_even_hours
from estimator.planning.option import Way
from estimator.planning.pareto import front
from estimator.provenance import Assumption
from estimator.results.plan import (
    BreakEven,
    Candidate,
    CandidateCost,
    CpuAgainstGpu,
    NearestMiss,
    PlanResult,
    Recommendation,
)
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.plan_ask import Ask
    from estimator.app.plan_prices import Priced, Purse
    from estimator.planning.choice import Choice
    from estimator.planning.option import Option

_RIVALS_NAMED = 3


def verdict(
    ask: Ask,
    priced: Sequence[Priced],
    purse: Purse,
    assumptions: Sequence[Assumption],
    warnings: Sequence[str],
) -> PlanResult:
    """Return the result of a plan."""
    ordered = sorted(priced, key=lambda p: (p.option.experiment_s, p.option.per_experiment or 0.0))
    options = [p.option for p in ordered]
    costs = [o.per_experiment if o.fits else None for o in options]
    on_front = front([o.experiment_s for o in options], costs)
    choice = choose(options, ask.constraints)
    missed = None if choice else nearest_miss(options, ask.constraints)
    chosen = next((p for p in ordered if choice and p.option is choice.chosen), None)
    if chosen is not None:
        purse.note_age(chosen.money.row, f"{chosen.offer.name} ({chosen.offer.way})")
    even = None if chosen is None else _break_even(ask, chosen, ordered)
    return PlanResult(
        inputs=_inputs(ask, purse),
        candidates=tuple(
            _candidate(ask, p, purse, on_front=is_on) for p, is_on in zip(ordered, on_front, strict=True)
        ),
        recommendation=None if choice is None else _recommendation(ask, choice),
        break_even=even,
        nearest_miss=None
        if missed is None
        else NearestMiss(system=missed[0].name, way=missed[0].way, misses=missed[1]),
        cpu_against_gpu=_cpu_against_gpu(options),
        currency=ask.currency,
        coverage=ask.jobs[0].request.coverage,
        assumptions=tuple(dict.fromkeys((*assumptions, *_use(ask)))),
        warnings=(*warnings, *purse.warnings),
    )


def _use(ask: Ask) -> list[Assumption]:
    found = []
    if ask.hours_per_month is None or ask.months is None:
        value = f"{ask.use.hours_per_month:g} hours a month for {ask.use.months:g} months"
        why = "not said; change it with --hours-per-month and --months"
        found.append(Assumption(what="use of a bought machine", value=value, why=why))
    if ask.host_price is None:
        why = "not said; add it with --host-price"
        found.append(Assumption(what="price of the host", value="not counted", why=why))
    return found


def _candidate(ask: Ask, priced: Priced, purse: Purse, *, on_front: bool) -> Candidate:
    option, money = priced.option, priced.money
    hours = option.experiment_s / ask.trials.count / 3600
    running = money.electricity_per_hour
    carbon = purse.g_per_kwh
    known = option.energy_j is not None and carbon is not None
    return Candidate(
        system=option.name,
        way=option.way,
        device=option.device,
        kind=option.kind,
        devices=option.count,
        micro_batch=tuple(step.batch for step in priced.steps),
        accumulation=tuple(step.accumulation for step in priced.steps),
        time_s=option.run_s,
        low_s=option.run_s * priced.low,
        high_s=option.run_s * priced.high,
        basis=priced.steps[0].alone.basis,
        experiment_s=option.experiment_s,
        fits=option.fits,
        memory_bytes=option.memory_bytes,
        power_w=option.power_w,
        energy_j=option.energy_j,
        co2e_g=co2_g(option.energy_j or 0.0, carbon or 0.0) if known else None,
        cost=CandidateCost(
            buy=option.buy,
            rent=option.rent_per_hour,
            electricity_per_run=None if running is None else running * hours,
            per_run=option.per_run,
            per_experiment=option.per_experiment,
            currency=ask.currency,
            as_of=money.row.as_of.isoformat() if money.row else None,
            source=money.row.source if money.row else None,
        ),
        on_front=on_front,
        misses=ask.constraints.excess(option),
    )


def _recommendation(ask: Ask, choice: Choice) -> Recommendation:
    runner = choice.runner_up
    return Recommendation(
        system=choice.chosen.name,
        way=choice.chosen.way,
        reason=_reason(ask, choice),
        runner_up=None if runner is None else f"{runner.name} ({runner.way})",
        robust=choice.robust,
        robust_together=choice.robust_together,
        rivals=tuple(dict.fromkeys(f"{o.name} ({o.way})" for o in choice.rivals))[:_RIVALS_NAMED],
    )


def _reason(ask: Ask, choice: Choice) -> str:
    """Say what it is the best at, and what the runner-up costs and takes beside it."""
    best, currency = choice.chosen, ask.currency
    within = []
    if ask.constraints.deadline_s is not None:
        within.append(f"the deadline of {format_seconds(ask.constraints.deadline_s)}")
    if ask.constraints.budget is not None:
        within.append(f"the budget of {ask.constraints.budget:,.0f} {currency}")
    if ask.constraints.max_memory_bytes is not None:
        within.append("the memory limit")
    if ask.constraints.power_cap_w is not None:
        within.append("the power cap")
    limits = f" within {', '.join(within)}" if within else ""
    words = f"the {'cheapest' if choice.rule == CHEAPEST else 'fastest'}{limits}"
    runner = choice.runner_up
    if runner is None:
        return words
    time, cost = runner.experiment_s / best.experiment_s, _ratio(runner.per_experiment, best.per_experiment)
    beside = f"; {runner.name} ({runner.way}) takes {time:.2f}x the time"
    return f"{words}{beside}" + (f" and {cost:.2f}x the cost" if cost is not None else "")


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _break_even(ask: Ask, chosen: Priced, ordered: Sequence[Priced]) -> BreakEven | None:
    """Return buying against renting the chosen devices; None where one of the prices is missing."""
    same = [
        p for p in ordered if (p.option.device, p.option.count) == (chosen.option.device, chosen.option.count)
    ]
    bought = next((p for p in same if p.option.way is Way.BUY and p.money.buy is not None), None)
    rented = min(
        (p for p in same if p.money.rent_per_hour is not None),
        key=lambda p: p.money.rent_per_hour or 0.0,
        default=None,
    )
    if bought is None or rented is None or bought.money.electricity_per_hour is None:
        return None
    buy, rent = bought.money.buy or 0.0, rented.money.rent_per_hour or 0.0
    hours = break_even_hours(buy, rent, bought.money.electricity_per_hour)
    return BreakEven(
        device=chosen.option.device,
        devices=chosen.option.count,
        buy=buy,
        rent_per_hour=rent,
        rented_from=rented.option.name,
        electricity_per_hour=bought.money.electricity_per_hour,
        hours=hours,
        months=None if hours is None else hours / ask.use.hours_per_month,
    )


def _cpu_against_gpu(options: Sequence[Option]) -> CpuAgainstGpu | None:
    """Return the cheapest experiment on each kind, of machines that are not owned already."""
    best: dict[str, Option] = {}
    for option in options:
        if option.fits and option.per_experiment is not None and option.way is not Way.OWN:
            known = best.get(option.kind)
            if known is None or option.per_experiment < (known.per_experiment or 0.0):
                best[option.kind] = option
    cpu, gpu = best.get("cpu"), best.get("gpu")
    if cpu is None or gpu is None or not cpu.per_experiment or not gpu.per_experiment:
        return None
    return CpuAgainstGpu(
        cpu_system=f"{cpu.name} ({cpu.way})",
        cpu_cost=cpu.per_experiment,
        cpu_experiment_s=cpu.experiment_s,
        gpu_system=f"{gpu.name} ({gpu.way})",
        gpu_cost=gpu.per_experiment,
        gpu_experiment_s=gpu.experiment_s,
        cost_ratio=cpu.per_experiment / gpu.per_experiment,
    )


def _inputs(ask: Ask, purse: Purse) -> dict[str, object]:
    limits = ask.constraints
    said: dict[str, object] = {
        "budget": limits.budget,
        "deadline_s": limits.deadline_s,
        "max_memory_bytes": limits.max_memory_bytes,
        "power_cap_w": limits.power_cap_w,
        "region": purse.region,
        "price_per_kwh": purse.price_per_kwh,
        "cooling": purse.overheads.cooling,
        "hours_per_month": ask.use.hours_per_month,
        "months": ask.use.months,
        "trials": ask.trials.count,
        "parallel": ask.trials.parallel,
        "counts": list(ask.counts),
        "spot": ask.spot,
        "today": ask.today.isoformat(),
    }
    return {
        "networks": [
            {
                **job.request.inputs(),
                "network": job.described.network.name,
                "network_file": job.request.network,
                "weight": job.weight,
            }
            for job in ask.jobs
        ],
        **{name: value for name, value in said.items() if value is not None},
    }
