"""The registry of output formats, and the one function that draws a result in one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.registry import Registry
from estimator.report.formats.json_text import render_json
from estimator.report.formats.markup import render_csv, render_markdown
from estimator.report.formats.plain import render_plain
from estimator.report.formats.rows import render_rows
from estimator.report.formats.terminal import render_table

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


def _json(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    del screen, medium
    return render_json(result.to_mapping()) + "\n"


def _csv(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    """Write the result's own rows, or the first table of the screen where it has none."""
    rows = medium.rows or result.main_rows
    return render_rows(result.to_mapping(), rows) if rows else render_csv(screen())


def _html(result: Result, screen: Callable[[], Screen], medium: Medium) -> str:
    """Draw a page; its parts are loaded only for that."""
    from estimator.report.html.page import render_html

    del result, medium
    return render_html(screen())


FORMATS: Registry[Format] = Registry("output format")
for _format in (
    Format(
        "table",
        (),
        lambda _result, screen, medium: render_table(screen(), width=medium.width, colour=medium.colour),
    ),
    Format("plain", (".txt",), lambda _result, screen, _medium: render_plain(screen())),
    Format("json", (".json",), _json),
    Format("csv", (".csv",), _csv),
    Format("markdown", (".md", ".markdown"), lambda _result, screen, _medium: render_markdown(screen())),
    Format("html", (".html", ".htm"), _html),
):
    FORMATS.add(_format.name, _format)


def format_for_suffix(suffix: str) -> Format | None:
    """Return the format a file ending asks for, if any does."""
    for name in FORMATS:
        if suffix.lower() in FORMATS.get(name).suffixes:
            return FORMATS.get(name)
    return None
