"""Draws predicted against measured times as an SVG: a dot a row, both axes logarithmic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from estimator.results.accuracy import Point

    At: TypeAlias = Callable[[float], float]

_SIDE, _MARGIN = 560, 56
_COLOURS = ("#1b6ca8", "#c1440e", "#3a7d44", "#7d3c98", "#8a6d00")
_DECADES = {-6: "1 µs", -5: "10 µs", -4: "100 µs", -3: "1 ms", -2: "10 ms", -1: "100 ms", 0: "1 s", 1: "10 s",
            2: "100 s", 3: "1000 s"}  # fmt: skip


def scatter_svg(points: Sequence[Point], title: str) -> str:
    """Return the drawing: the diagonal is a perfect prediction, the dashed lines are factors of two."""
    times = [time for point in points for time in (point.measured_s, point.predicted_s)]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    kinds = sorted({point.board for point in points})
    colour = {kind: _COLOURS[number % len(_COLOURS)] for number, kind in enumerate(kinds)}
    size = _SIDE + 2 * _MARGIN

    def at(seconds: float) -> float:
        return _SIDE * (math.log10(seconds) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" font-family="sans-serif">',
        f"<title>{title}</title>",
        f'<rect width="{size}" height="{size}" fill="white"/>',
        *_axes(low, high, at_value=at),
        *(_line(10.0**low, 10.0**high, factor, at_value=at) for factor in (0.5, 1.0, 2.0)),
    ]
    for point in points:
        x, y = _MARGIN + at(point.measured_s), _MARGIN + _SIDE - at(point.predicted_s)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{colour[point.board]}" fill-opacity="0.45"/>'
        )
    for number, kind in enumerate(kinds):
        y = _MARGIN + 18 + 18 * number
        parts.append(f'<circle cx="{_MARGIN + 14}" cy="{y - 4}" r="4" fill="{colour[kind]}"/>')
        parts.append(f'<text x="{_MARGIN + 24}" y="{y}" font-size="13">{kind}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(low: int, high: int, *, at_value: At) -> Iterable[str]:
    bottom = _MARGIN + _SIDE
    yield f'<rect x="{_MARGIN}" y="{_MARGIN}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#444"/>'
    for power, name in _DECADES.items():
        if low <= power <= high:
            place = at_value(10.0**power)
            yield _text(name, _MARGIN + place, bottom + 18, "middle")
            yield _text(name, _MARGIN - 6, bottom - place + 4, "end")
    middle = _MARGIN + _SIDE / 2
    yield f'<text x="{middle}" y="{bottom + 42}" font-size="13" text-anchor="middle">measured, a step</text>'
    yield (
        f'<text x="16" y="{middle}" font-size="13" text-anchor="middle" '
        f'transform="rotate(-90 16 {middle})">predicted, a step</text>'
    )


def _text(words: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}">{words}</text>'


def _line(first: float, last: float, factor: float, *, at_value: At) -> str:
    """Draw predicted = factor x measured, cut to the frame."""
    start, end = max(first, first / factor), min(last, last / factor)
    x1, x2 = _MARGIN + at_value(start), _MARGIN + at_value(end)
    y1, y2 = (_MARGIN + _SIDE - at_value(factor * seconds) for seconds in (start, end))
    dash = "" if factor == 1.0 else ' stroke-dasharray="4 4"'
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#888"{dash}/>'
