"""The screen of ``estimator plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import network_of
from estimator.report.phrases import NOTHING, money, times
from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.plan import Candidate, NearestMiss, PlanResult

_KWH_J = 3.6e6
_LIMITS = {
    "budget": "budget", "deadline": "deadline", "memory": "memory limit", "power": "power cap",
}  # fmt: skip
_WORDS = {"buy": "buy", "rent": "rent", "own": "use"}
ROWS_SHOWN = 16


def plan_screen(result: PlanResult, *, most: int | None = ROWS_SHOWN) -> Screen:
    """Return what to take and why, the Pareto front, rent or buy, and what it rests on."""
    blocks: list[Block] = [Answer(_answer(result)), Paragraph(_basis(result), "dim")]
    blocks += [Paragraph(line) for line in _reasons(result)]
    blocks.append(_table(result, most))
    pairs = tuple((a.what, f"{a.value} ({a.why})") for a in result.assumptions)
    blocks.append(Facts(title="assumed", pairs=pairs))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    blocks.append(Paragraph(_next(result), "next"))
    return tuple(blocks)


def _networks(result: PlanResult) -> str:
    parts = []
    for one in result.inputs["networks"]:
        weight = one["weight"]
        parts.append(one["network"] if weight == 1 else f"{weight:g}x {one['network']}")
    return " + ".join(parts)


def _find(result: PlanResult, system: str, way: str) -> Candidate:
    return next(c for c in result.candidates if (c.system, c.way) == (system, way))


def _chosen(result: PlanResult) -> Candidate | None:
    """Return the recommended candidate, or the nearest miss."""
    found = result.recommendation or result.nearest_miss
    return None if found is None else _find(result, found.system, found.way)


def _why_none(result: PlanResult) -> str:
    """Say what the candidates lack."""
    fitting = [c for c in result.candidates if c.fits is not False]
    if not fitting:
        return "no candidate fits in memory"
    fastest = min(fitting, key=lambda c: c.time_s)
    return (
        f"what a run costs is not known of any candidate that fits (its price, or the power it draws); "
        f"the fastest, {_named(fastest)}, takes {format_seconds(fastest.time_s)}"
    )


def _answer(result: PlanResult) -> str:
    best = _chosen(result)
    if best is None:
        return f"{_networks(result)}: {_why_none(result)}"
    if result.nearest_miss is not None:
        return f"nothing meets the constraints; the nearest, {_named(best)}, {_missing(result.nearest_miss)}"
    outlay = f" for {_money(best.cost.buy, result)}" if best.way == "buy" else ""
    rent = f" at {_money(best.cost.rent, result)}/h" if best.way == "rent" else ""
    trials = int(result.inputs["trials"])
    total = f", {trials} trials in {format_seconds(best.experiment_s)}" if trials > 1 else ""
    return (
        f"{_WORDS[best.way]} {best.system}{outlay}{rent}: {_networks(result)} trains in "
        f"{format_seconds(best.time_s)}, {_money(best.cost.per_run, result)} a run{total}"
    )


def _named(candidate: Candidate) -> str:
    return f"{candidate.system} ({candidate.way})"


def _missing(miss: NearestMiss) -> str:
    parts = [f"is {times(float(ratio))} the {_LIMITS[name]}" for name, ratio in miss.misses.items()]
    return " and ".join(parts)


def _basis(result: PlanResult) -> str:
    best = _chosen(result)
    if best is None:
        return "nothing to choose from"
    between = f"{format_seconds(best.low_s)} to {format_seconds(best.high_s)}"
    parts = [f"{100 * result.coverage:.0f} % range {between} (basis: {best.basis})"]
    if best.cost.as_of:
        parts.append(f"price of {best.cost.as_of}")
    priced = sum(1 for c in result.candidates if c.cost.per_experiment is not None)
    count = len(result.candidates)
    parts.append(f"{count:,} {'candidate' if count == 1 else 'candidates'}, {priced:,} with a cost")
    return "; ".join(parts)


def _reasons(result: PlanResult) -> list[str]:
    lines = []
    choice = result.recommendation
    if choice is not None:
        lines.append(f"why: {choice.reason}")
        lines.append(_sure(result))
    best = _chosen(result)
    if best is not None and best.energy_j is not None:
        carbon = "" if best.co2e_g is None else f", {best.co2e_g / 1000:,.3g} kg CO2e"
        region = result.inputs["region"]
        lines.append(
            f"energy: {best.energy_j / _KWH_J:,.3g} kWh a run with host and cooling{carbon} ({region})"
        )
    if result.break_even is not None:
        lines.append(_even(result))
    against = result.cpu_against_gpu
    if against is not None:
        lines.append(
            f"CPU or GPU: the cheapest CPUs cost {times(against.cost_ratio)} the cheapest GPUs: "
            f"{_money(against.cpu_cost, result)} in {format_seconds(against.cpu_experiment_s)} on "
            f"{against.cpu_system}, {_money(against.gpu_cost, result)} in "
            f"{format_seconds(against.gpu_experiment_s)} on {against.gpu_system}"
        )
    return lines


def _sure(result: PlanResult) -> str:
    choice = result.recommendation
    if choice is None:
        return ""
    if choice.robust:
        return "how sure: it stays the choice anywhere in the range of each time"
    together = "stays" if choice.robust_together else "changes"
    if not choice.rivals:
        return (
            f"how sure: at the slow end of its range it misses a constraint; it {together} if all err alike"
        )
    rivals = ", ".join(choice.rivals)
    return f"how sure: if all times are off alike it {together}; within the ranges {rivals} could come first"


def _even(result: PlanResult) -> str:
    even = result.break_even
    if even is None:
        return ""
    what = f"{even.devices}x {even.device}"
    rent = f"{_money(even.rent_per_hour, result)}/h ({even.rented_from})"
    if even.hours is None or even.months is None:
        return f"rent or buy: at {rent}, renting {what} is always cheaper than its electricity"
    hours = f"{even.hours:,.0f} h of training"
    return (
        f"rent or buy: {what} bought for {_money(even.buy, result)} beat {rent} after {hours}, "
        f"{_few(even.months)} months at {float(result.inputs['hours_per_month']):g} h a month"
    )


def _table(result: PlanResult, most: int | None) -> Table:
    shown = _shown(result, most)
    several = int(result.inputs["trials"]) > 1
    best = _chosen(result)
    return Table(
        name="candidates",
        title="fastest to cheapest: what no other candidate beats in both time and cost",
        columns=(
            Column("system", "left"), Column("way", "left"), Column("a run"), Column("cost a run"),
            *((Column("all trials"), Column("cost of all")) if several else ()),
            Column("price"), Column("note", "left", optional=True), Column("kWh a run", optional=True),
            Column("priced", "left", optional=True),
        ),
        rows=tuple(_row(result, c, several=several) for c in shown),
        emphasis=frozenset(i for i, c in enumerate(shown) if c is best),
    )  # fmt: skip


def _shown(result: PlanResult, most: int | None) -> list[Candidate]:
    """Return the front, with the choice and the runner-up; all candidates where all are asked for."""
    if most is None:
        return list(result.candidates)
    best = _chosen(result)
    runner = result.recommendation.runner_up if result.recommendation else None
    wanted = [c for c in result.candidates if c.on_front or c is best or _named(c) == runner]
    if len(wanted) <= most:
        return wanted
    kept = {id(best), *(id(c) for c in wanted if _named(c) == runner)}
    step = len(wanted) / max(1, most - len(kept))
    every = {id(wanted[int(i * step)]) for i in range(max(1, most - len(kept)))}
    return [c for c in wanted if id(c) in kept | every]


def _row(result: PlanResult, c: Candidate, *, several: bool) -> tuple[str, ...]:
    whole = (format_seconds(c.experiment_s), _money(c.cost.per_experiment, result)) if several else ()
    return (
        c.system,
        c.way,
        format_seconds(c.time_s),
        _money(c.cost.per_run, result),
        *whole,
        f"{_money(c.cost.rent, result)}/h" if c.way == "rent" else _money(c.cost.buy, result),
        _note(result, c),
        NOTHING if c.energy_j is None else f"{c.energy_j / _KWH_J:,.3g}",
        c.cost.as_of or "",
    )


def _note(result: PlanResult, c: Candidate) -> str:
    choice = result.recommendation
    words = []
    if c is _chosen(result):
        words.append("recommended" if choice else "nearest")
    elif choice and choice.runner_up == _named(c):
        words.append("runner-up")
    words += [f"over {name}" for name in c.misses]
    if c.fits is False:
        words.append("too large")
    passes = max(c.accumulation)
    if passes > 1:
        words.append(f"batch {min(c.micro_batch)} x {passes}")
    return ", ".join(words)


def _few(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"  # noqa: PLR2004 - two digits either way


def _money(amount: float | None, result: PlanResult) -> str:
    return money(amount, result.currency)


def _next(result: PlanResult) -> str:
    best = _chosen(result)
    network = network_of(result.inputs["networks"][0])
    if best is None:
        return f"next: estimator memory {network}"
    if best.way == "rent":
        return f"next: estimator prices show {best.device}"
    return f'next: estimator predict {network} --device "{best.devices}x {best.device}"'
