"""The section of the report about money: the plan's answer, time against cost, and every dated price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Drawing, Facts, Heading, Paragraph, Table
from estimator.report.phrases import NOTHING, money
from estimator.report.plots.cost import cost_figure
from estimator.report.screens.cells import keyed_table
from estimator.report.screens.plan import plan_screen
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.report.blocks import Block
    from estimator.report.screens.cells import Cell
    from estimator.results.plan import Candidate, PlanResult

_KWH_J = 3.6e6
_MOST_ROWS = 250


def plan_answer(plan: PlanResult) -> str:
    """Return what the plan says first."""
    return next(block.text for block in plan_screen(plan) if isinstance(block, Answer))


def costs(plan: PlanResult) -> Iterator[Block]:
    """Return the section: what a plan would answer, its plot, all candidates, and what costs rest on."""
    yield Heading("Costs")
    for block in plan_screen(plan):
        if isinstance(block, Answer) or (isinstance(block, Paragraph) and block.kind != "next"):
            yield block
    figure = cost_figure(plan)
    if figure.series:
        yield Drawing(figure)
    kept = _kept(plan)
    yield _candidates(plan, kept)
    left = len(plan.candidates) - len(kept)
    if left:
        yield Paragraph(f"{left:,} candidates that cost more are left out; the JSON form has all.", "dim")
    pairs = tuple((a.what, f"{a.value} ({a.why})") for a in plan.assumptions)
    yield Facts(title="What the costs take for granted", pairs=pairs)


def _kept(plan: PlanResult) -> list[Candidate]:
    """Return the candidates on the front and the cheapest others, in the plan's order."""
    order = sorted(
        range(len(plan.candidates)),
        key=lambda i: (not plan.candidates[i].on_front, _cost(plan.candidates[i])),
    )
    return [plan.candidates[i] for i in sorted(order[:_MOST_ROWS])]


def _cost(candidate: Candidate) -> float:
    amount = candidate.cost.per_experiment
    return float("inf") if amount is None else amount


def _candidates(plan: PlanResult, kept: list[Candidate]) -> Table:
    columns = (
        Column("system", "left"), Column("way", "left"), Column("a run"), Column("cost a run"),
        Column("price"), Column("kWh a run"), Column("kg CO2e"), Column("fits", "left"),
        Column("on the front", "left"), Column("price of", "left"), Column("source", "left", fold=True),
    )  # fmt: skip
    table = keyed_table(
        "candidates", "What a run costs, bought, rented or owned", columns, (_row(plan, c) for c in kept)
    )
    chosen = plan.recommendation
    marked = frozenset(
        i for i, c in enumerate(kept) if chosen and (c.system, c.way) == (chosen.system, chosen.way)
    )
    return Table(
        name=table.name, title=table.title, columns=table.columns, rows=table.rows, keys=table.keys,
        emphasis=marked,
    )  # fmt: skip


def _row(plan: PlanResult, c: Candidate) -> list[Cell]:
    hourly = c.way == "rent"
    price = c.cost.rent if hourly else c.cost.buy
    per_hour = "/h" if hourly and price is not None else ""
    fits = {True: "yes", False: "no", None: "not known"}[c.fits]
    front = "yes" if c.on_front else ""
    return [
        (c.system, c.system),
        (c.way, c.way),
        (format_seconds(c.time_s), c.time_s),
        (money(c.cost.per_run, plan.currency), c.cost.per_run),
        (f"{money(price, plan.currency)}{per_hour}", price),
        (NOTHING, None) if c.energy_j is None else (f"{c.energy_j / _KWH_J:,.3g}", c.energy_j),
        (NOTHING, None) if c.co2e_g is None else (f"{c.co2e_g / 1000:,.3g}", c.co2e_g),
        (fits, fits),
        (front, front),
        (c.cost.as_of or NOTHING, c.cost.as_of),
        (c.cost.source or NOTHING, c.cost.source),
    ]
