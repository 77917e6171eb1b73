"""Plots of a sweep: throughput by batch with its knee and memory wall, and speed-up by devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.plots.figure import Dash, Marker
    from estimator.results.sweep import ScalePoint, ScaleResult, SweepPoint, SweepResult

MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "plus", "cross")
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted", "dashdot")
_MOST_LINES = 12


def batch_figure(result: SweepResult) -> Figure:
    """Return throughput by batch, a line for each other setting; what does not fit is a row of crosses."""
    lines: dict[str, list[SweepPoint]] = {}
    for point in result.points:
        lines.setdefault(_line_name(point), []).append(point)
    chosen = list(lines.items())[:_MOST_LINES]
    series = [_line(name, points, index) for index, (name, points) in enumerate(chosen)]
    beyond = [point for _, points in chosen for point in points if point.fits is False]
    if beyond:
        marks = tuple(Mark(x=p.batch, y=p.samples_per_s, tip=_tip(p)) for p in beyond)
        series.append(Series(name="does not fit in memory", marks=marks, marker="cross", tone=0))
    network = result.inputs.get("network", "the network")
    return Figure(
        name="batch",
        title=f"Throughput by batch: {network}",
        summary=_summary(result),
        x=Axis(label="batch of a device, samples", quantity=Quantity.COUNT, log=True, binary=True),
        y=Axis(label="samples/s", quantity=Quantity.COUNT),
        series=tuple(s for s in series if s.marks),
    )


def _line_name(point: SweepPoint) -> str:
    count = f"{point.devices}x " if point.devices > 1 else ""
    others = [f"{k} {v}" for k, v in point.settings.items() if k not in ("batch", "device", "devices")]
    return ", ".join([f"{count}{point.device}", *others])


def _line(name: str, points: Sequence[SweepPoint], index: int) -> Series:
    fitting = sorted((p for p in points if p.fits is not False), key=lambda p: p.batch)
    return Series(
        name=name,
        kind="line",
        marker=MARKERS[index % 4],
        dash=DASHES[index % len(DASHES)],
        tone=1 + index % 5,
        with_markers=True,
        marks=tuple(
            Mark(
                x=p.batch,
                y=p.samples_per_s,
                tip=_tip(p),
                label="knee" if p.knee else "wall" if p.wall else "",
                y_range=(p.samples_per_s * p.step_s / p.high_s, p.samples_per_s * p.step_s / p.low_s),
            )
            for p in fitting
        ),
    )


def _tip(point: SweepPoint) -> str:
    verdict = {True: "fits", False: "does not fit", None: "capacity not known"}[point.fits]
    return (
        f"{_line_name(point)}, batch {point.batch}: {format_si(point.samples_per_s)} samples/s, "
        f"{format_seconds(point.step_s)} a step, {format_bytes(point.memory_bytes)} ({verdict})"
    )


def _summary(result: SweepResult) -> str:
    text = f"Throughput at {len(result.points)} settings; the bars are {100 * result.coverage:.0f} % ranges."
    knees = [f"{_line_name(p)} at batch {p.batch}" for p in result.points if p.knee][:_MOST_LINES]
    if knees:
        text += f" Beyond the knee a larger batch gains less than 10 %: {', '.join(knees)}."
    return text


def scale_figure(result: ScaleResult) -> Figure:
    """Return speed-up by number of devices, a line for each kind of scaling and link, beside the ideal."""
    lines: dict[str, list[ScalePoint]] = {}
    for point in result.points:
        lines.setdefault(f"{point.kind}, {point.link}", []).append(point)
    series = [
        Series(
            name=name,
            kind="line",
            marker=MARKERS[index % 4],
            dash=DASHES[1 + index % 3],
            tone=1 + index % 5,
            with_markers=True,
            marks=tuple(
                Mark(
                    x=p.devices,
                    y=p.speed_up,
                    tip=f"{name}, {p.devices} devices: {p.speed_up:.1f}x, efficiency "
                    f"{100 * p.efficiency:.0f} %, {format_seconds(p.step_s)} a step",
                )
                for p in sorted(points, key=lambda p: p.devices)
            ),
        )
        for index, (name, points) in enumerate(list(lines.items())[:_MOST_LINES])
    ]
    counts = sorted({p.devices for p in result.points})
    ideal = tuple(Mark(x=n, y=n / counts[0], tip=f"ideal: {n / counts[0]:.0f}x") for n in counts)
    return Figure(
        name="scale",
        title=f"Speed-up by devices: {result.inputs.get('network', 'the network')} on {result.device}",
        summary=f"Speed-up over {counts[0]} of {result.device} as devices are added, beside the ideal.",
        x=Axis(label="devices", quantity=Quantity.COUNT, log=True, binary=True),
        y=Axis(label="speed-up", quantity=Quantity.COUNT, log=True, binary=True),
        series=(Series(name="ideal", kind="line", dash="solid", tone=0, marks=ideal), *series),
    )
