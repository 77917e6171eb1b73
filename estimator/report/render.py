"""The registry of output formats; what draws in one of them is loaded when that one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.report.blocks import Screen
    from estimator.results.base import Result


@dataclass(frozen=True, slots=True)
class Medium:
    """Where the text goes: its width (None for a pipe or a file) and whether colour is welcome.

    ``rows`` is the list of the result that a table for programs shows, where it is not the usual one.
    """

    width: int | None = None
    colour: bool = False
    rows: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """One output format; ``suffixes`` are the file endings that choose it."""

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[Result, Callable[[], Screen], Medium], str]


def _table(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    from estimator.report.formats.terminal import render_table

    del result
    return render_table(screen(), width=medium.width, colour=medium.colour)


def _plain(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    from estimator.report.formats.plain import render_plain

    del result, medium
    return render_plain(screen())


def _json(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    from estimator.report.formats.json_text import render_json

    del screen, medium
    return render_json(result.to_mapping()) + "\n"


def _csv(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    """Write the result's own rows, or the first table of the screen where it has none."""
    from estimator.report.formats.markup import render_csv
    from estimator.report.formats.rows import render_rows

    rows = medium.rows or result.main_rows
    return render_rows(result.to_mapping(), rows) if rows else render_csv(screen())


def _markdown(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    from estimator.report.formats.markup import render_markdown

    del result, medium
    return render_markdown(screen())


def _html(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    from estimator.report.html.page import render_html

    del result, medium
    return render_html(screen())


FORMATS: Registry[Format] = Registry("output format")
for _format in (
    Format("table", (), _table),
    Format("plain", (".txt",), _plain),
    Format("json", (".json",), _json),
    Format("csv", (".csv",), _csv),
    Format("markdown", (".md", ".markdown"), _markdown),
    Format("html", (".html", ".htm"), _html),
):
    FORMATS.add(_format.name, _format)


def format_for_suffix(suffix: str) -> Format | None:
    """Return the format a file ending asks for, if any does."""
    for name in FORMATS:
        if suffix.lower() in FORMATS.get(name).suffixes:
            return FORMATS.get(name)
    return None
