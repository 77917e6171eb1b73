"""Figures as SVG, PNG or PDF files, drawn with matplotlib: markers, dashes and hatches beside colour."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from estimator.errors import MissingPackageError
from estimator.report.plots.figure import Quantity
from estimator.report.plots.palette import TONES
from estimator.report.plots.scale import scale_of

if TYPE_CHECKING:
    from estimator.report.plots.figure import Dash, Figure, Fill, Marker, Series

SUFFIXES = (".svg", ".png", ".pdf")
_MARKERS: dict[Marker, str] = {
    "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x", "plus": "+",
}  # fmt: skip
_DASHES: dict[Dash, str] = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
_HATCHES: dict[Fill, str] = {"full": "", "striped": "////", "open": "...."}
_INCHES, _ROW_INCHES, _DPI = (9.0, 5.5), 0.26, 150


def draw_to_bytes(figure: Figure, suffix: str) -> bytes:
    """Return a figure as a file of the kind that ``suffix`` (of ``SUFFIXES``) names.

    Equal figures give equal bytes. Raises MissingPackageError without matplotlib.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingPackageError(
            "drawing to a file needs matplotlib", hint="install it with pip install 'estimator[plot]'"
        ) from None
    names = figure.y.names if figure.y.quantity is Quantity.NAME else ()
    size = (_INCHES[0], max(3.0, 1.8 + _ROW_INCHES * len(names))) if names else _INCHES
    with mpl.rc_context({"svg.hashsalt": "estimator", "hatch.linewidth": 0.6, "font.size": 9}):
        canvas = Canvas(figsize=size, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        for order, series in enumerate(figure.series):
            _draw(axes, series, order)
        _dress(axes, figure)
        out = io.BytesIO()
        kind = suffix.removeprefix(".").lower()
        dateless: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        canvas.savefig(out, format=kind, metadata=dateless.get(kind))
    return out.getvalue()


def _draw(axes: Any, series: Series, order: int) -> None:  # noqa: ANN401 - an untyped package
    tone = TONES[series.tone % len(TONES)]
    xs, ys = [mark.x for mark in series.marks], [mark.y for mark in series.marks]
    if series.kind == "bars":
        starts = [mark.start for mark in series.marks]
        widths = [x - start for x, start in zip(xs, starts, strict=True)]
        axes.barh(
            ys, widths, left=starts, height=0.7, label=series.name, hatch=_HATCHES[series.fill],
            facecolor=tone if series.fill == "full" else "white", edgecolor=tone, linewidth=0.8,
        )  # fmt: skip
        return
    _ranges(axes, series, tone)
    marked = series.kind == "points" or series.with_markers
    hollow = _MARKERS[series.marker] not in "x+"
    axes.plot(
        xs, ys, label=series.name, color=tone, zorder=2 + order,
        linestyle=_DASHES[series.dash] if series.kind == "line" else "none",
        marker=_MARKERS[series.marker] if marked else "none", markersize=5,
        markerfacecolor="white" if hollow and series.kind == "line" else tone, linewidth=1.4,
    )  # fmt: skip
    for mark in series.marks:
        if mark.label:
            axes.annotate(mark.label, (mark.x, mark.y), textcoords="offset points", xytext=(4, 7), fontsize=8)


def _ranges(axes: Any, series: Series, tone: str) -> None:  # noqa: ANN401
    for mark in series.marks:
        if mark.x_range:
            axes.plot(mark.x_range, [mark.y, mark.y], color=tone, linewidth=1.2, marker="|", zorder=1.5)
        if mark.y_range:
            axes.plot([mark.x, mark.x], mark.y_range, color=tone, linewidth=0.9, marker="_", zorder=1.5)


def _dress(axes: Any, figure: Figure) -> None:  # noqa: ANN401
    axes.set_title(figure.title, loc="left", fontsize=11)
    for axis, described, scale in (
        (axes.xaxis, figure.x, scale_of(figure, "x")),
        (axes.yaxis, figure.y, scale_of(figure, "y")),
    ):
        is_x = axis is axes.xaxis
        if described.log:
            (axes.set_xscale if is_x else axes.set_yscale)("log")
        (axes.set_xlim if is_x else axes.set_ylim)(scale.low, scale.high)
        axis.set_ticks([tick for tick, _ in scale.ticks], [text for _, text in scale.ticks])
        axis.set_tick_params(which="minor", length=0)
        if described.quantity is not Quantity.NAME:
            axis.set_label_text(described.label)
            axis.grid(visible=True, color="#dddddd", linewidth=0.6)
    if figure.y.quantity is Quantity.NAME:
        axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=8, frameon=False)
