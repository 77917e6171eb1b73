"""Figures as inline SVG for a page: its style sheet colours them, each mark carries its tooltip."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.report.plots.figure import Quantity
from estimator.report.plots.scale import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from estimator.report.plots.figure import Dash, Figure, Mark, Marker, Series
    from estimator.report.plots.scale import Scale

_ROW = 22.0
_TOP, _RIGHT, _BOTTOM = 10.0, 16.0, 52.0
_SHORT = 6  # characters that fit beside any mark
_CHARACTER = 6.3  # of the 11-pixel font, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The room a drawing has, in pixels; ``names`` is the most that names on an axis may take of it."""

    name: str
    width: float
    height: float
    left: float
    names: float
    tick_room: float


WIDE = Layout(name="wide", width=720.0, height=400.0, left=66.0, names=230.0, tick_room=52.0)
NARROW = Layout(name="narrow", width=360.0, height=300.0, left=58.0, names=132.0, tick_room=48.0)
_DASHES: dict[Dash, str] = {"solid": "", "dashed": "7 4", "dotted": "1.5 4", "dashdot": "8 4 1.5 4"}
_SHAPES: dict[Marker, str] = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "M-3.5-3.5h7v7h-7z",
    "triangle": "M0-4.5L4.5 3.5h-9z",
    "diamond": "M0-5L5 0L0 5L-5 0z",
    "cross": "M-3.5-3.5L3.5 3.5M3.5-3.5L-3.5 3.5",
    "plus": "M0-4.5V4.5M-4.5 0H4.5",
}


class _Frame:
    """The drawing area: where values of a figure stand in it, in pixels."""

    def __init__(self, figure: Figure, layout: Layout, *, tips: bool) -> None:
        self.tips = tips
        self.by_name = figure.y.quantity is Quantity.NAME
        names = figure.y.names
        longest = max((len(name) for name in names), default=0) if self.by_name else 0
        self.characters = int((layout.names - 14) / _CHARACTER)
        self.left = min(layout.names, 14 + _CHARACTER * longest) if self.by_name else layout.left
        inner = _ROW * len(names) + 8 if self.by_name else layout.height - _TOP - _BOTTOM
        self.right, self.top, self.bottom = layout.width - _RIGHT, _TOP, _TOP + inner
        self.height = self.bottom + _BOTTOM
        self.tick_room = layout.tick_room
        self.x_scale: Scale = scale_of(figure, "x")
        self.y_scale: Scale = scale_of(figure, "y")

    def x(self, value: float) -> float:
        if self.x_scale.log and value <= 0:
            return self.left
        return self.left + self.x_scale.place(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        up = self.y_scale.place(value)
        return self.top + (up if self.by_name else 1 - up) * (self.bottom - self.top)


def figure_svg(figure: Figure, layout: Layout = WIDE, *, tips: bool = True) -> str:
    """Return a figure as an ``<svg>`` element; every text that came from outside is escaped."""
    frame = _Frame(figure, layout, tips=tips)
    clip = f"clip-{_e(figure.name)}"
    label = _e(f"{figure.title}. {figure.summary}")
    box = (
        f'x="{frame.left - 6:.1f}" y="{frame.top - 6:.1f}" width="{frame.right - frame.left + 12:.1f}" '
        f'height="{frame.bottom - frame.top + 12:.1f}"'
    )
    opening = (
        f'<svg class="plot {layout.name}" id="plot-{_e(figure.name)}" '
        f'viewBox="0 0 {layout.width:g} {frame.height:g}" '
        f'role="img" aria-label="{label}"><clipPath id="{clip}"><rect {box}/></clipPath>'
    )
    marks = "".join(part for series in figure.series for part in _series(series, frame))
    return f'{opening}{"".join(_axes(figure, frame))}<g clip-path="url(#{clip})">{marks}</g></svg>'


def legend_svg(series: Series) -> str:
    """Return the sign of a series for the legend, as a small ``<svg>``."""
    kind = f"{series.kind} {series.fill}" if series.kind == "bars" else series.kind
    body = ""
    if series.kind == "bars":
        body = '<rect class="bar" x="4" y="3" width="22" height="10"/>'
    if series.kind == "line":
        body = f'<path class="curve" d="M1 8H29"{_dash(series)}/>'
    if series.kind == "points" or series.with_markers:
        body += (
            f'<path class="sign {series.marker}" transform="translate(15 8)" d="{_SHAPES[series.marker]}"/>'
        )
    return f'<svg class="key {kind} t{series.tone}" viewBox="0 0 30 16" aria-hidden="true">{body}</svg>'


def _axes(figure: Figure, frame: _Frame) -> Iterator[str]:
    last = float("-inf")
    for value, text in frame.x_scale.ticks:
        x = frame.x(value)
        yield f'<path class="grid" d="M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}"/>'
        if x - last < frame.tick_room:
            continue
        last = x
        yield _text(text, x, frame.bottom + 17, "middle")
    for value, text in frame.y_scale.ticks:
        y = frame.y(value)
        if not frame.by_name:
            yield f'<path class="grid" d="M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"/>'
        short = text if len(text) <= frame.characters else f"…{text[1 - frame.characters :]}"
        yield _text(short, frame.left - 7, y + 4, "end")
    middle_x, middle_y = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
    yield _text(figure.x.label, middle_x, frame.bottom + 38, "middle", "axis-label")
    if not frame.by_name:
        label = _text(figure.y.label, 0, 0, "middle", "axis-label")
        yield f'<g transform="translate(14 {middle_y:.1f}) rotate(-90)">{label}</g>'
    yield (
        f'<path class="frame" d="M{frame.left:.1f} {frame.top:.1f}V{frame.bottom:.1f}H{frame.right:.1f}"/>'
    )


def _series(series: Series, frame: _Frame) -> Iterator[str]:
    kind = f"bars {series.fill}" if series.kind == "bars" else series.kind
    yield f'<g class="series {kind} t{series.tone}">'
    if series.kind == "line" and series.marks:
        yield f'<path class="curve" d="{_path(series.marks, frame)}"{_dash(series)}/>'
    for mark in series.marks:
        yield from _bar(mark, frame) if series.kind == "bars" else _point(series, mark, frame)
    yield "</g>"


def _bar(mark: Mark, frame: _Frame) -> Iterator[str]:
    left, right = frame.x(mark.start), frame.x(mark.x)
    width, y = max(right - left, 0.5), frame.y(mark.y) - _ROW * 0.36
    yield (
        f'<rect class="bar mark" x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_ROW * 0.72:.1f}">'
        f"{_tip(mark, frame)}</rect>"
    )


def _point(series: Series, mark: Mark, frame: _Frame) -> Iterator[str]:
    x, y = frame.x(mark.x), frame.y(mark.y)
    if mark.x_range:
        low, high = (frame.x(value) for value in mark.x_range)
        upright = "".join(f"M{end:.1f} {y - 4:.1f}v8" for end in (low, high))
        yield f'<path class="range" d="M{low:.1f} {y:.1f}H{high:.1f}{upright}"/>'
    if mark.y_range:
        low, high = (frame.y(value) for value in mark.y_range)
        across = "".join(f"M{x - 4:.1f} {end:.1f}h8" for end in (low, high))
        yield f'<path class="range" d="M{x:.1f} {low:.1f}V{high:.1f}{across}"/>'
    tip = _tip(mark, frame)
    if series.kind == "points" or series.with_markers:
        yield (
            f'<path class="sign mark {series.marker}" transform="translate({x:.1f} {y:.1f})" '
            f'd="{_SHAPES[series.marker]}">{tip}</path>'
        )
    if mark.label:
        below = series.tone % 2 == 0  # labels of neighbouring series on either side of their lines
        inwards = x > frame.left + 0.7 * (frame.right - frame.left) and len(mark.label) > _SHORT
        anchor, dx = ("end", -7) if inwards else ("start", 7)
        yield _text(mark.label, x + dx, y + 17 if below else y - 8, anchor, "note")


def _tip(mark: Mark, frame: _Frame) -> str:
    return f"<title>{_e(mark.tip)}</title>" if mark.tip and frame.tips else ""


def _path(marks: Sequence[Mark], frame: _Frame) -> str:
    return "M" + "L".join(f"{frame.x(mark.x):.1f} {frame.y(mark.y):.1f}" for mark in marks)


def _dash(series: Series) -> str:
    dashes = _DASHES[series.dash]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _text(text: str, x: float, y: float, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_e(text)}</text>'


def _e(text: str) -> str:
    return html.escape(text, quote=True)
