"""Figures in a terminal, drawn with plotext: characters tell series apart, colour only helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.errors import MissingPackageError
from estimator.report.plots.figure import Quantity
from estimator.report.plots.scale import scale_of

if TYPE_CHECKING:
    from estimator.report.plots.figure import Dash, Figure, Fill, Marker, Series
    from estimator.report.plots.scale import Scale

MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "#", "triangle": "^", "diamond": "@", "cross": "x", "plus": "+",
}  # fmt: skip
_LINES: dict[Dash, str] = {"solid": "braille", "dashed": "-", "dotted": ".", "dashdot": "~"}
_BARS: dict[Fill, str] = {"full": "█", "striped": "▒", "open": "░"}
_COLOURS = ("default", "blue", "orange", "green", "magenta", "cyan")
_WIDTH, _LEAST_WIDTH, _ROWS = 100, 40, 20
_EDGE = 0.2  # a label beginning or ending this near to an edge runs inwards
_FRAME_ROWS = 3  # two lines of the frame, one of tick texts


def draw_in_terminal(figure: Figure, *, width: int | None, colour: bool) -> str:
    """Return a figure as lines of text at most ``width`` wide, its title above and its legend below.

    Raises MissingPackageError without plotext.
    """
    plotext = _plotext()
    columns = max(_LEAST_WIDTH, min(width or _WIDTH, _WIDTH))
    x, y = scale_of(figure, "x"), scale_of(figure, "y")
    by_name = figure.y.quantity is Quantity.NAME
    rows = len(figure.y.names) if by_name else _ROWS
    plotext.clear_figure()
    plotext.limit_size(False, False)  # noqa: FBT003 - plotext takes them by place
    plotext.plotsize(columns, rows + _FRAME_ROWS)
    for part in (plotext.canvas_color, plotext.axes_color, plotext.ticks_color):
        part("default")
    for series in figure.series:
        _draw(plotext, series, x, y, by_name=by_name)
    _ticks(plotext, figure, x, y, columns)
    text = plotext.build()
    if not colour:
        text = plotext.uncolorize(text)
    axes = [f"across: {figure.x.label}", *([] if by_name else [f"up: {figure.y.label}"])]
    legend = [f"{_sign(series)} {series.name}" for series in figure.series]
    return "\n".join(
        [figure.title, *text.rstrip("\n").split("\n"), "; ".join(axes), *_wrapped(legend, columns)]
    )


def _plotext() -> Any:  # noqa: ANN401 - an untyped package
    try:
        import plotext
    except ImportError:
        raise MissingPackageError(
            "plots in the terminal need plotext", hint="install it with pip install 'estimator[plot]'"
        ) from None
    if not hasattr(plotext, "clear_figure"):
        raise MissingPackageError(
            "this plotext is too new", hint="install the one this needs with pip install 'estimator[plot]'"
        )
    return plotext


def _draw(plotext: Any, series: Series, x: Scale, y: Scale, *, by_name: bool) -> None:  # noqa: ANN401
    colour = _COLOURS[series.tone % len(_COLOURS)]

    def up(value: float) -> float:
        return 1 - y.place(value) if by_name else y.place(value)

    across = [x.place(mark.x) for mark in series.marks]
    heights = [up(mark.y) for mark in series.marks]
    for mark, at, height in zip(series.marks, across, heights, strict=True):
        if series.kind == "bars":
            ends = [x.place(mark.start) if mark.start > 0 or not x.log else 0.0, at]
            plotext.plot(ends, [height, height], marker=_BARS[series.fill], color=colour)
        elif mark.x_range:
            plotext.plot([*map(x.place, mark.x_range)], [height, height], marker="-", color=colour)
        elif mark.y_range and series.kind == "points":
            plotext.plot([at, at], [*map(up, mark.y_range)], marker="|", color=colour)
        if mark.label:
            side = "left" if at < _EDGE else "right" if at > 1 - _EDGE else "center"
            plotext.text(mark.label, at, height + 0.05, alignment=side)
    if series.kind == "line":
        plotext.plot(across, heights, marker=_LINES[series.dash], color=colour)
    if series.kind == "points" or series.with_markers:
        plotext.scatter(across, heights, marker=MARKERS[series.marker], color=colour)


def _ticks(plotext: Any, figure: Figure, x: Scale, y: Scale, columns: int) -> None:  # noqa: ANN401
    by_name = figure.y.quantity is Quantity.NAME
    for side, scale, set_limits, set_ticks in (
        ("x", x, plotext.xlim, plotext.xticks),
        ("y", y, plotext.ylim, plotext.yticks),
    ):
        rows = len(figure.y.names)
        edge = 0.5 / rows if by_name and side == "y" and rows > 1 else 0.0  # rows are centred on their places
        set_limits(edge, 1 - edge)
        shown = scale.ticks[:: 1 + len(scale.ticks) * 9 // columns] if side == "x" else scale.ticks
        flip = by_name and side == "y"
        set_ticks(
            [1 - scale.place(t) if flip else scale.place(t) for t, _ in shown], [text for _, text in shown]
        )


def _sign(series: Series) -> str:
    if series.kind == "bars":
        return _BARS[series.fill]
    if series.kind == "points" or series.with_markers:
        return MARKERS[series.marker]
    return "⠤" if series.dash == "solid" else _LINES[series.dash]


def _wrapped(entries: list[str], columns: int) -> list[str]:
    """Put as many legend entries on a line as fit."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= columns:
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return lines
