"""The screen of ``estimator scale``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import network_of
from estimator.report.phrases import percent, short_name, times
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.blocks import Block, Screen
    from estimator.results.sweep import ScalePoint, ScaleResult

_TITLES = {
    "weak": "weak scaling: each device keeps its batch",
    "strong": "strong scaling: the global batch stays",
}
_PAYS = 0.5  # of each added device


def scale_screen(result: ScaleResult) -> Screen:
    """Return what the most devices gain, then a row a number of devices, by link and kind."""
    blocks: list[Block] = [Answer(_answer(result)), Paragraph(_basis(result), "dim"), Paragraph(_why(result))]
    series = dict.fromkeys((p.kind, p.link) for p in result.points)
    several = len({link for _, link in series}) > 1
    for kind, link in series:
        rows = [p for p in result.points if (p.kind, p.link) == (kind, link)]
        blocks.append(_table(kind, rows, link if several else None))
    pairs = tuple((a.what, f"{a.value} ({a.why})") for a in result.assumptions)
    if pairs:
        blocks.append(Facts(title="assumed", pairs=pairs))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    blocks.append(Paragraph(f"next: estimator plan {network_of(result.inputs)}", "next"))
    return tuple(blocks)


def _answer(result: ScaleResult) -> str:
    most = max(result.points, key=lambda p: (p.devices, p.samples_per_s))
    fewest = min(result.points, key=lambda p: p.devices)
    network, name = result.inputs["network"], short_name(result.device)
    if most.devices == fewest.devices:
        return f"{network} on {most.devices}x {name}: {format_si(most.samples_per_s)} samples/s"
    return (
        f"{network}: {most.devices}x {name} train {times(most.speed_up)} as fast as {fewest.devices}, "
        f"{percent(most.efficiency, 1)} efficiency ({most.kind} scaling)"
    )


def _basis(result: ScaleResult) -> str:
    most = max(result.points, key=lambda p: (p.devices, p.samples_per_s))
    rate = most.samples_per_s * most.step_s
    return (
        f"{100 * result.coverage:.0f} % range {format_si(rate / most.high_s)} to "
        f"{format_si(rate / most.low_s)} samples/s on {most.devices} (basis: {result.basis}); "
        "of the ratio less, as both share their errors"
    )


def _why(result: ScaleResult) -> str:
    most = max(result.points, key=lambda p: (p.devices, p.samples_per_s))
    if most.devices == 1:
        return "one device exchanges nothing"
    wasteful = [p for p in result.points if p.kind == most.kind and p.efficiency < _PAYS]
    tail = ""
    if wasteful:
        first = min(p.devices for p in wasteful)
        tail = f"; from {first} devices on, less than half of each counts"
    return (
        f"each step exchanges {format_bytes(result.gradient_bytes)} of gradients in "
        f"{format_seconds(most.exchange_s)} over {most.between or most.link}; "
        f"{format_seconds(most.exposed_s)} ({percent(most.exposed_s, most.step_s)} of the step) "
        f"stays visible{tail}"
    )


def _table(kind: str, rows: Sequence[ScalePoint], link: str | None) -> Table:
    nodes = any(p.nodes > 1 for p in rows)
    title = f"{_TITLES[kind]}, {link}" if link else _TITLES[kind]
    return Table(
        name=kind,
        title=title,
        columns=(
            Column("devices"), Column("batch"), Column("a step"), Column("samples/s"), Column("speed-up"),
            Column("efficiency"), Column("exposed"), *((Column("nodes", optional=True),) if nodes else ()),
            Column("fits", "left", optional=True), Column("range", optional=True),
            Column("global batch", optional=True),
        ),
        rows=tuple(
            (
                str(p.devices),
                f"{p.batch:,}",
                format_seconds(p.step_s),
                format_si(p.samples_per_s),
                times(p.speed_up),
                percent(p.efficiency, 1),
                percent(p.exposed_s, p.step_s),
                *((str(p.nodes),) if nodes else ()),
                {True: "yes", False: "NO", None: "?"}[p.fits],
                f"{format_seconds(p.low_s)} to {format_seconds(p.high_s)}",
                f"{p.global_batch:,}",
            )
            for p in rows
        ),
    )  # fmt: skip
