"""The screen of ``estimator compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.screens.times import NOTHING, between, named, percent
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.prediction import ComparisonResult, LayerGain, Prediction

_GAINS_SHOWN = 3


def comparison_screen(result: ComparisonResult) -> Screen:
    """Return a row a device, fastest first, then why, then which layers gain."""
    ordered = sorted(result.predictions, key=lambda p: -p.step.samples_per_s)
    blocks: list[Block] = [
        Answer(_answer(result, ordered)),
        Paragraph(_basis(ordered[0]), "dim"),
        _table(result, ordered),
        _phases(ordered),
        *(Paragraph(sentence) for sentence in result.explanation),
    ]
    if result.gains:
        blocks.append(_gains(result.gains))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    network = result.inputs.get("network", "NET")
    blocks.append(Paragraph(f'next: estimator predict {network} --device "{ordered[0].device.name}"', "next"))
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
        f"{ratio:.1f}x as fast as on {named(slowest.device)}{takes}"
    )


def _basis(prediction: Prediction) -> str:
    coverage = prediction.step.time_s.coverage
    return f"expected times; each range holds the true time in {100 * coverage:.0f} % of cases"


def _table(result: ComparisonResult, ordered: list[Prediction]) -> Table:
    base = next((p for p in ordered if p.device.id == result.baseline), ordered[-1])
    has_total = any(p.total_s is not None for p in ordered)
    columns = [
        Column("device", "left"),
        Column("lanes"),
        Column("peak FLOP/s"),
        Column("GB/s"),
        Column("a step"),
        Column("range", "left"),
        Column("samples/s"),
        Column(f"x {base.device.name}"),
        Column("memory", "left"),
        Column("basis", "left"),
    ]
    if has_total:
        columns.insert(6, Column("in all"))
    rows = []
    for p in ordered:
        row = [
            named(p.device),
            f"{p.device.lanes * p.device.devices:,.0f}",
            format_si(p.device.peak_flop_per_s * p.device.devices) if p.device.peak_flop_per_s else NOTHING,
            f"{p.device.bandwidth_bytes_per_s / 1e9:,.0f}" if p.device.bandwidth_bytes_per_s else NOTHING,
            format_seconds(p.step.time_s.expected),
            between(p.step.time_s),
            format_si(p.step.samples_per_s).strip(),
            f"{p.step.samples_per_s / base.step.samples_per_s:.1f}",
            _fit(p),
            p.step.time_s.basis,
        ]
        if has_total:
            row.insert(6, format_seconds(p.total_s) if p.total_s is not None else NOTHING)
        rows.append(tuple(row))
    return Table(name="devices", columns=tuple(columns), rows=tuple(rows))


def _fit(prediction: Prediction) -> str:
    memory = prediction.memory
    if memory.fits is None:
        return f"{format_bytes(memory.total_bytes)} of ?"
    return "fits" if memory.fits else f"TOO LARGE ({format_bytes(memory.total_bytes)})"


def _phases(ordered: list[Prediction]) -> Table:
    names = ("forward_s", "backward_s", "optimizer_s", "communication_s", "data_s")
    shown = [n for n in names if any(getattr(p.step.phases, n) > 0 for p in ordered)]
    return Table(
        name="phases",
        title="what part of a step costs what",
        columns=(Column("device", "left"), *(Column(n.removesuffix("_s")) for n in shown), Column("of peak")),
        rows=tuple(
            (
                named(p.device),
                *(
                    f"{format_seconds(getattr(p.step.phases, n))} "
                    f"({percent(getattr(p.step.phases, n), p.step.time_s.expected)})"
                    for n in shown
                ),
                NOTHING if p.step.mfu is None else f"{100 * p.step.mfu:.0f} %",
            )
            for p in ordered
        ),
    )


def _gains(gains: tuple[LayerGain, ...]) -> Table:
    """Show the layers that gain most and least; all of them when they are few."""
    few = len(gains) <= 2 * _GAINS_SHOWN
    shown = gains if few else (*gains[:_GAINS_SHOWN], *gains[-_GAINS_SHOWN:])
    return Table(
        name="gains",
        title=f"layers that gain most and least from {gains[0].device} over {gains[0].baseline}",
        columns=(
            Column("layer", "left"),
            Column(gains[0].baseline),
            Column(gains[0].device),
            Column("faster by"),
        ),
        rows=tuple(
            (g.path, format_seconds(g.baseline_s), format_seconds(g.device_s), f"{g.speed_up:.1f}x")
            for g in shown
        ),
    )
