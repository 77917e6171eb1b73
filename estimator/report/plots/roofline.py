"""The roofline plot: ceilings of a device with a network's layers as points under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.phrases import named
from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.units import format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.plots.figure import Dash, Marker
    from estimator.results.roofline import Ceiling, RooflinePoint, RooflineResult

_DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")
MOST_POINTS = 200
_ROOM = 3.0  # how far the slope and the flat run on beside the outermost points
_GROUPS: tuple[tuple[str, str, bool, Marker, int], ...] = (
    ("products, compute-bound", "compute", True, "circle", 1),
    ("products, memory-bound", "memory", True, "square", 2),
    ("element-wise and others", "", False, "cross", 3),
)


def roofline_figure(result: RooflineResult, *, most: int = MOST_POINTS) -> Figure:
    """Return the plot: intensity against attained rate, both logarithmic; the slope is the bandwidth.

    Of many layers the ``most`` slowest are shown.
    """
    points = sorted(result.points, key=lambda point: -point.time_s)[:most]
    low, high = _span(result, points)
    series = [
        *(_ceiling(result, group, index, low, high) for index, group in enumerate(_equal(result.ceilings))),
        *_layers(points),
    ]
    return Figure(
        name="roofline",
        title=f"Roofline: {result.network} on {named(result.device)}, "
        f"{result.precision}, batch {result.batch}",
        summary=_summary(result, most),
        x=Axis(label="arithmetic intensity, FLOP/byte", quantity=Quantity.INTENSITY, log=True),
        y=Axis(label="attained FLOP/s", quantity=Quantity.FLOP_PER_S, log=True),
        series=tuple(series),
    )


def _span(result: RooflineResult, points: Sequence[RooflinePoint]) -> tuple[float, float]:
    at = [point.intensity_flop_per_byte for point in points]
    at += [ceiling.ridge_point_flop_per_byte for ceiling in result.ceilings]
    return min(at) / _ROOM, max(at) * _ROOM


def _equal(ceilings: Sequence[Ceiling]) -> list[list[Ceiling]]:
    """Group ceilings of equal height, which one line stands for."""
    groups: dict[float, list[Ceiling]] = {}
    for ceiling in ceilings:
        groups.setdefault(ceiling.flop_per_s, []).append(ceiling)
    return list(groups.values())


def _ceiling(result: RooflineResult, group: Sequence[Ceiling], index: int, low: float, high: float) -> Series:
    """Return the slope up to a ridge point and the flat beyond; lower ceilings share the first's slope."""
    ridge, peak = group[0].ridge_point_flop_per_byte, group[0].flop_per_s
    units = " and ".join(f"{ceiling.precision} {ceiling.unit}" for ceiling in group)
    name = f"{units} peak {format_si(peak, 'FLOP/s')}"
    flat = (
        Mark(x=ridge, y=peak, tip=f"{name}; ridge point at {ridge:.1f} FLOP/byte"),
        Mark(x=high, y=peak, tip=name),
    )
    slope = Mark(x=low, y=low * result.bandwidth_bytes_per_s, tip=_bandwidth(result))
    first = index == 0
    return Series(
        name=f"{name}, {_bandwidth(result)}" if first else name,
        marks=(slope, *flat) if first else flat,
        kind="line",
        dash=_DASHES[index % len(_DASHES)],
        tone=0,
    )


def _bandwidth(result: RooflineResult) -> str:
    return f"{result.bandwidth_bytes_per_s / 1e9:,.0f} GB/s"


def _layers(points: Sequence[RooflinePoint]) -> list[Series]:
    groups: dict[str, list[Mark]] = {}
    for point in points:
        groups.setdefault(_group(point), []).append(_mark(point))
    return [
        Series(name=name, marks=tuple(groups[name]), marker=marker, tone=tone)
        for name, _, _, marker, tone in _GROUPS
        if name in groups
    ]


def _group(point: RooflinePoint) -> str:
    if not point.products:
        return _GROUPS[2][0]
    return _GROUPS[0][0] if point.bound == "compute" else _GROUPS[1][0]


def _mark(point: RooflinePoint) -> Mark:
    tip = (
        f"{point.path} ({point.type}): {point.intensity_flop_per_byte:.1f} FLOP/byte, "
        f"{format_si(point.attained_flop_per_s, 'FLOP/s')}, {format_seconds(point.time_s)} "
        f"({100 * point.share:.1f} % of the step), bound by {point.bound}"
    )
    return Mark(x=point.intensity_flop_per_byte, y=point.attained_flop_per_s, tip=tip)


def _counted(result: RooflineResult, most: int) -> str:
    count = len(result.points)
    return f"{count} layers" if count <= most else f"The {most} slowest of {count:,} layers"


def _summary(result: RooflineResult, most: int) -> str:
    right = sum(point.share for point in result.points if point.bound == "compute")
    memory = sum(point.share for point in result.points if point.bound == "memory")
    ridge = result.ceilings[0].ridge_point_flop_per_byte
    return (
        f"{_counted(result, most)} of {result.network} under the ceilings of {named(result.device)}. "
        f"Compute-bound layers take {100 * right:.0f} % of the step, memory-bound ones {100 * memory:.0f} %; "
        f"the ridge point of the highest ceiling is at {ridge:.1f} FLOP/byte. Bytes are compulsory traffic: "
        "layers that live in a cache, or convolutions by Winograd's method, can stand above a ceiling."
    )
