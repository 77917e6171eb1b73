"""A plot as plain data: axes, series of marks and notes, before any drawing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["points", "line", "bars"]
Dash: TypeAlias = Literal["solid", "dashed", "dotted", "dashdot"]
Fill: TypeAlias = Literal["full", "striped", "open"]
Marker: TypeAlias = Literal["circle", "square", "triangle", "diamond", "cross", "plus"]
Range: TypeAlias = tuple[float, float]


class Quantity(StrEnum):
    """What an axis measures, which decides how its ticks are written."""

    SECONDS = "seconds"
    COUNT = "count"
    FLOP_PER_S = "FLOP/s"
    INTENSITY = "FLOP/byte"
    MONEY = "money"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis; ``binary`` puts the ticks of a logarithmic one at powers of two.

    A ``NAME`` axis has ``names`` at 0, 1, 2, …, drawn from the top.
    """

    label: str
    quantity: Quantity
    log: bool = False
    binary: bool = False
    names: tuple[str, ...] = ()
    currency: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point, or one bar from ``start`` to ``x``; ``low``/``high`` ranges run along an axis.

    ``tip`` is what a reader sees on pointing at it; ``label`` is always drawn beside it.
    """

    x: float
    y: float
    tip: str = ""
    label: str = ""
    start: float = 0.0
    x_range: Range | None = None
    y_range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Marks that look the same. Tone alone never tells two series apart: marker, dash or fill does."""

    name: str
    marks: tuple[Mark, ...]
    kind: Kind = "points"
    marker: Marker = "circle"
    dash: Dash = "solid"
    fill: Fill = "full"
    tone: int = 0
    with_markers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot; ``name`` is an identifier, ``summary`` what it shows, in a sentence for who cannot see it."""

    name: str
    title: str
    summary: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]

    def values(self, axis: Literal["x", "y"]) -> list[float]:
        """Return every value drawn along an axis, with the ends of ranges and the starts of bars."""
        found: list[float] = []
        for series in self.series:
            for mark in series.marks:
                found.append(mark.x if axis == "x" else mark.y)
                found.extend((mark.x_range if axis == "x" else mark.y_range) or ())
                if series.kind == "bars" and axis == "x":
                    found.append(mark.start)
        return found
