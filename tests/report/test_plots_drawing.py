"""Figures in the terminal, as files and as inline SVG."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from estimator.errors import MissingPackageError
from estimator.report.blocks import Drawing
from estimator.report.formats.terminal import render_table
from estimator.report.plots.bars import layers_figure
from estimator.report.plots.figure import Axis, Figure, Mark, Quantity, Series
from estimator.report.plots.image import draw_to_bytes
from estimator.report.plots.roofline import roofline_figure
from estimator.report.plots.svg import NARROW, WIDE, figure_svg
from estimator.report.plots.terminal import draw_in_terminal
from estimator.report.plots.trends import batch_figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.results.report import ReportResult

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(small_report: ReportResult) -> list[Figure]:
    each = small_report.networks[1]
    assert each.roofline is not None
    assert each.batches is not None
    layers = layers_figure(each.network, each.comparison.predictions[0])
    return [roofline_figure(each.roofline), layers, batch_figure(each.batches)]


@pytest.mark.parametrize("width", [40, 80, 200, None])
def test_a_terminal_is_not_overrun(drawn: list[Figure], width: int | None) -> None:
    for figure in drawn:
        text = draw_in_terminal(figure, width=width, colour=False)
        title, *lines = text.splitlines()
        assert title == figure.title
        assert "\x1b" not in text
        plot = [line for line in lines if line.rstrip().endswith(("│", "┐", "┘"))]
        assert plot
        assert max(map(len, plot)) <= (width or 100)


def test_every_series_is_in_the_legend_with_its_sign(drawn: list[Figure]) -> None:
    text = draw_in_terminal(drawn[0], width=80, colour=False)
    for series in drawn[0].series:
        assert series.name in text


def test_colour_only_where_it_is_welcome(drawn: list[Figure]) -> None:
    coloured = draw_in_terminal(drawn[0], width=80, colour=True)
    assert "\x1b[" in coloured
    plain = draw_in_terminal(drawn[0], width=80, colour=False)
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert stripped.split() == plain.split()


def test_names_of_layers_stand_beside_their_bars(drawn: list[Figure]) -> None:
    text = draw_in_terminal(drawn[1], width=80, colour=False)
    rows = [line for line in text.splitlines() if "┤" in line]
    assert [row.partition("┤")[0].strip() for row in rows] == list(drawn[1].y.names)
    assert all("█" in row or "▒" in row for row in rows)


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_files_are_what_their_suffix_says_and_repeat(drawn: list[Figure], suffix: str, start: bytes) -> None:
    files = [draw_to_bytes(figure, suffix) for figure in drawn]
    assert all(file.startswith(start) for file in files)
    assert files[1] == draw_to_bytes(drawn[1], suffix)


def to_file(figure: Figure) -> None:
    draw_to_bytes(figure, ".svg")


def to_terminal(figure: Figure) -> None:
    draw_in_terminal(figure, width=80, colour=False)


@pytest.mark.parametrize(("package", "draw"), [("matplotlib", to_file), ("plotext", to_terminal)])
def test_a_missing_package_is_named(
    drawn: list[Figure],
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    draw: Callable[[Figure], None],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=package) as caught:
        draw(drawn[0])
    assert "estimator[plot]" in str(caught.value)


def test_a_screen_with_a_plot_needs_no_package(drawn: list[Figure], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotext", None)
    text = render_table((Drawing(drawn[0]),), width=80, colour=False)
    assert "estimator[plot]" in text


@pytest.mark.parametrize("layout", [WIDE, NARROW])
def test_inline_svg_is_well_formed_and_each_mark_has_its_tooltip(drawn: list[Figure], layout: object) -> None:
    for figure in drawn:
        root = ET.fromstring(figure_svg(figure, layout).replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))  # type: ignore[arg-type]  # noqa: S314 - made by us
        assert root.get("role") == "img"
        assert figure.summary in (root.get("aria-label") or "")
        marks = [e for e in root.iter() if "mark" in (e.get("class") or "").split()]
        drawn_marks = [m for s in figure.series if s.kind != "line" or s.with_markers for m in s.marks]
        assert len(marks) == len(drawn_marks)
        assert all(mark.findtext(f"{SVG}title") for mark in marks)
        _, _, width, height = map(float, (root.get("viewBox") or "").split())
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.get("x", "0")) <= width
            assert 0 <= float(text.get("y", "0")) <= height


def test_tips_may_be_left_to_another_drawing(drawn: list[Figure]) -> None:
    assert "<title>" not in figure_svg(drawn[0], NARROW, tips=False)


def test_inline_svg_escapes_names() -> None:
    evil = "<script>alert(1)</script>\" onload='x'"
    axis = Axis(label=evil, quantity=Quantity.COUNT)
    names = Axis(label="layer", quantity=Quantity.NAME, names=(evil,))
    series = Series(name=evil, marks=(Mark(x=1.0, y=0.0, tip=evil, label=evil),))
    figure = Figure(name="plot", title=evil, summary=evil, x=axis, y=names, series=(series,))
    svg = figure_svg(figure)
    assert "<script" not in svg
    root = ET.fromstring(svg)  # noqa: S314 - made by us
    assert all(name != "onload" for element in root.iter() for name in element.attrib)
