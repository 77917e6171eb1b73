"""The screen of ``estimator compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.commands import device_of, network_of
from estimator.report.phrases import NOTHING, between, money, named, percent, short_name, times
from estimator.results.base import plain
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.prediction import ComparisonResult, LayerGain, Prediction

_DETAILED = 20  # devices worth more than a row
_EXPLAINED = 5  # where there are more
_GAINS_SHOWN = 3
_KWH_J = 3.6e6


def comparison_screen(result: ComparisonResult) -> Screen:
    """Return a row a device, fastest first, then why, then which layers gain."""
    ordered = sorted(result.predictions, key=lambda p: -p.step.samples_per_s)
    base = _baseline(result, ordered)
    detailed = [p for i, p in enumerate(ordered) if i < _DETAILED or p is base]
    blocks: list[Block] = [
        Answer(_answer(result, ordered)),
        Paragraph(_basis(ordered), "dim"),
        _times_table(result, ordered),
        *_left_out(len(ordered) - len(detailed)),
        _hardware_table(detailed),
        _phases(detailed),
        *_costs(result, detailed),
        *(Paragraph(sentence) for sentence in _sentences(result, base, detailed)),
    ]
    if result.gains:
        blocks.append(_gains(result.gains))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    network, fastest = network_of(result.inputs), device_of(ordered[0].device)
    blocks.append(Paragraph(f"next: estimator predict {network} --device {fastest}", "next"))
    return tuple(blocks)


def _answer(result: ComparisonResult, ordered: list[Prediction]) -> str:
    fastest, slowest = ordered[0], ordered[-1]
    network = result.inputs.get("network", "the network")
    if fastest is slowest:
        return f"{network}: only one device to compare, {named(fastest.device)}"
    ratio = fastest.step.samples_per_s / slowest.step.samples_per_s
    takes = f", {format_seconds(fastest.total_s)} in all" if fastest.total_s is not None else ""
    return (
        f"{network} trains fastest on {named(fastest.device)}: "
        f"{times(ratio)} as fast as on {named(slowest.device)}{takes}"
    )


def _basis(ordered: list[Prediction]) -> str:
    coverage = ordered[0].step.time_s.coverage
    bases = dict.fromkeys(p.step.time_s.basis for p in ordered)
    return (
        f"expected times with ranges that hold the true time in {100 * coverage:.0f} % of cases "
        f"(basis: {', '.join(bases)})"
    )


def _baseline(result: ComparisonResult, ordered: list[Prediction]) -> Prediction:
    return next((p for p in ordered if p.device.id == result.baseline), ordered[-1])


def _left_out(count: int) -> list[Block]:
    if not count:
        return []
    text = f"below, the fastest {_DETAILED} and the baseline; --format json has the other {count} too"
    return [Paragraph(text, "dim")]


def _sentences(result: ComparisonResult, base: Prediction, detailed: list[Prediction]) -> list[str]:
    """Return why the fastest are as fast as they are; there is a sentence for all but the baseline."""
    others = [p for p in result.predictions if p is not base]
    shown = detailed if len(detailed) <= _DETAILED else detailed[:_EXPLAINED]
    wanted = {id(p) for p in shown}
    return [sentence for p, sentence in zip(others, result.explanation, strict=False) if id(p) in wanted]


def _times_table(result: ComparisonResult, ordered: list[Prediction]) -> Table:
    base = _baseline(result, ordered)
    has_total = any(p.total_s is not None for p in ordered)
    total = (Column("in all"),) if has_total else ()
    return Table(
        name="devices",
        columns=(
            Column("device", "left"), Column("a step"), Column("range"), *total,
            Column("samples/s", optional=True), Column("speed-up"), Column("memory", "left"),
        ),
        rows=tuple(
            (
                named(p.device),
                format_seconds(p.step.time_s.expected),
                between(p.step.time_s),
                *((format_seconds(p.total_s) if p.total_s is not None else NOTHING,) if has_total else ()),
                format_si(p.step.samples_per_s),
                times(p.step.samples_per_s / base.step.samples_per_s),
                _fit(p),
            )
            for p in ordered
        ),
    )  # fmt: skip


def _fit(prediction: Prediction) -> str:
    memory = prediction.memory
    if memory.fits is None:
        return f"needs {format_bytes(memory.total_bytes)}"
    return "fits" if memory.fits else f"NO: {format_bytes(memory.total_bytes)}"


def _hardware_table(ordered: list[Prediction]) -> Table:
    return Table(
        name="hardware",
        title="what the devices could do, and what they do",
        columns=(
            Column("device", "left"), Column("lanes"), Column("peak FLOP/s"), Column("GB/s"),
            Column("of peak"), Column("bound by", "left"),
        ),
        rows=tuple(
            (
                named(p.device),
                f"{p.device.lanes * p.device.devices:,.0f}",
                _peak(p),
                f"{p.device.bandwidth_bytes_per_s / 1e9:,.0f}" if p.device.bandwidth_bytes_per_s else NOTHING,
                NOTHING if p.step.mfu is None else f"{100 * p.step.mfu:.0f} %",
                _bound(p),
            )
            for p in ordered
        ),
    )  # fmt: skip


def _peak(prediction: Prediction) -> str:
    peak = prediction.device.peak_flop_per_s
    return format_si(peak * prediction.device.devices) if peak else NOTHING


def _bound(prediction: Prediction) -> str:
    """Return the largest bound with its share of the step."""
    bounds = plain(prediction.step.bounds)
    name = max(bounds, key=lambda key: float(bounds[key]))
    return f"{name.removesuffix('_s')} {percent(bounds[name], prediction.step.time_s.expected)}"


def _phases(ordered: list[Prediction]) -> Table:
    names = ("forward_s", "backward_s", "optimizer_s", "communication_s", "data_s")
    shown = [n for n in names if any(getattr(p.step.phases, n) > 0 for p in ordered)]
    return Table(
        name="phases",
        title="what part of a step costs what",
        columns=(Column("device", "left"), *(Column(n.removesuffix("_s")) for n in shown)),
        rows=tuple(
            (
                named(p.device),
                *(
                    f"{format_seconds(getattr(p.step.phases, n))} "
                    f"({percent(getattr(p.step.phases, n), p.step.time_s.expected)})"
                    for n in shown
                ),
            )
            for p in ordered
        ),
    )


def _costs(result: ComparisonResult, ordered: list[Prediction]) -> tuple[Table, ...]:
    """Return a row a device, in the order of the other tables; nothing where nothing is known."""
    pairs = {id(p): cost for p, cost in zip(result.predictions, result.costs, strict=False)}
    rows = [(p, pairs[id(p)]) for p in ordered if id(p) in pairs]
    if not any(cost.price is not None or cost.energy_j is not None for _, cost in rows):
        return ()
    span = "a run" if any(p.total_s is not None for p in ordered) else "an epoch"
    return (
        Table(
            name="costs",
            title="what it costs (energy with host and cooling; prices as of their dates)",
            columns=(
                Column("device", "left"),
                Column(f"energy {span}"),
                Column("electricity"),
                Column("price"),
                Column("as of", "left"),
            ),
            rows=tuple(
                (
                    named(p.device),
                    NOTHING if cost.energy_j is None else f"{cost.energy_j / _KWH_J:,.3g} kWh",
                    money(cost.electricity, cost.electricity_currency or ""),
                    money(cost.price, cost.currency or ""),
                    cost.as_of or NOTHING,
                )
                for p, cost in rows
            ),
        ),
    )


def _gains(gains: tuple[LayerGain, ...]) -> Table:
    """Show the layers that gain most and least; all of them when they are few."""
    few = len(gains) <= 2 * _GAINS_SHOWN
    device, baseline = short_name(gains[0].device), short_name(gains[0].baseline)
    shown = gains if few else (*gains[:_GAINS_SHOWN], *gains[-_GAINS_SHOWN:])
    return Table(
        name="gains",
        title=f"layers that gain most and least from {device} over {baseline}",
        columns=(Column("layer", "left"), Column(baseline), Column(device), Column("faster by")),
        rows=tuple(
            (g.path, format_seconds(g.baseline_s), format_seconds(g.device_s), times(g.speed_up))
            for g in shown
        ),
    )
