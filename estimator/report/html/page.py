"""Builds the page: sections with their blocks, into the template, with style and script inside."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from estimator.errors import MissingPackageError
from estimator.report.blocks import Answer, Drawing, Facts, Heading, Paragraph, Table
from estimator.report.plots.palette import DARK_TONES, TONES
from estimator.report.plots.svg import NARROW, WIDE, figure_svg, legend_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from estimator.report.blocks import Block, Column, Screen
    from estimator.report.plots.figure import Figure

_FEWEST_TO_FILTER = 6
_TALL = 25  # rows from which on a table scrolls in a box of its own
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(slots=True)
class Section:
    """A part of the page: ``id`` is its anchor, ``items`` are pairs of a kind and what to draw."""

    id: str
    title: str
    items: list[tuple[str, Any]] = field(default_factory=list)


def render_html(screen: Screen) -> str:
    """Return a screen as a page in one file.

    The first block is the answer and becomes the page's title. Raises MissingPackageError without Jinja.
    """
    try:
        from jinja2 import Environment, select_autoescape
        from markupsafe import Markup
    except ImportError:
        raise MissingPackageError(
            "a page needs jinja2", hint="install it with pip install 'estimator[report]'"
        ) from None
    answer = next((block.text for block in screen if isinstance(block, Answer)), "estimator")
    lead, sections = _sections(screen)
    script = _asset("page.js")
    environment = Environment(
        autoescape=select_autoescape(default=True, default_for_string=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["drawn"] = lambda figure: Markup(_drawn(figure))  # noqa: S704 - svg.py escapes its texts
    environment.filters["sign"] = lambda series: Markup(legend_svg(series))  # noqa: S704 - no text from outside
    template = environment.from_string(_asset("page.html.j2"))
    return template.render(
        title=answer,
        lead=lead,
        sections=sections,
        style=Markup(_style()),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704 - our own files
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        tall=_TALL,
        fewest_to_filter=_FEWEST_TO_FILTER,
    )


def _sections(screen: Screen) -> tuple[Section, list[Section]]:
    """Split a screen at its headings; what stands before the first is the lead, without the title."""
    lead = Section("lead", "")
    sections = [lead]
    taken: set[str] = set()
    first = True
    numbers: dict[str, int] = {}
    for block in screen:
        if isinstance(block, Heading):
            sections.append(Section(_anchor(block.text, taken), block.text))
            continue
        if isinstance(block, Answer) and first:
            first = False
            continue
        sections[-1].items.append(_item(block, numbers))
    return lead, sections[1:]


def _anchor(text: str, taken: set[str]) -> str:
    base = _NOT_A_WORD.sub("-", text.lower()).strip("-") or "section"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name)
    return name


def _item(block: Block, numbers: dict[str, int]) -> tuple[str, Any]:
    match block:
        case Answer(text):
            return "answer", text
        case Paragraph():
            return block.kind, block.text
        case Facts():
            return "facts", block
        case Table():
            return "table", _table(block, numbers)
        case Drawing(figure):
            return "figure", replace(figure, name=_numbered(_anchor(figure.name, set()), numbers))
        case Heading(text):  # headings begin sections and are taken before
            return "answer", text


def _numbered(name: str, numbers: dict[str, int]) -> str:
    numbers[name] = numbers.get(name, 0) + 1
    return f"{name}-{numbers[name]}"


def _table(block: Table, numbers: dict[str, int]) -> dict[str, Any]:
    keys: Sequence[Sequence[float | str | None]] = block.keys or [[None] * len(row) for row in block.rows]
    rows = [
        {
            "emphasis": number in block.emphasis,
            "cells": [
                {"text": text, "marks": _marks(text, key, column, keyed=bool(block.keys))}
                for text, key, column in zip(row, key_row, block.columns, strict=True)
            ],
        }
        for number, (row, key_row) in enumerate(zip(block.rows, keys, strict=True))
    ]
    return {
        "id": _numbered(_anchor(f"table {block.name}", set()), numbers),
        "title": block.title or block.name,
        "columns": block.columns,
        "rows": rows,
        "sortable": bool(block.keys) and len(rows) > 1,
    }


def _marks(text: str, key: float | str | None, column: Column, *, keyed: bool) -> Markup:
    """Return the attributes of a cell: how it stands, and what it is sorted by where that is not its text."""
    from markupsafe import Markup

    kinds = [kind for kind, holds in (("right", column.align == "right"), ("fold", column.fold)) if holds]
    marks = Markup(' class="{}"').format(" ".join(kinds)) if kinds else Markup()
    if not keyed or key == text:
        return marks
    value = "" if key is None else key if isinstance(key, str) else f"{key:.6g}"
    return marks + Markup(' data-k="{}"').format(value)


def _drawn(figure: Figure) -> str:
    """Return a figure twice, for wide and for narrow windows; the style sheet shows one of them.

    The script gives the narrow one the tooltips of the wide one.
    """
    narrow = replace(figure, name=f"{figure.name}-narrow")
    return figure_svg(figure, WIDE) + figure_svg(narrow, NARROW, tips=False)


@cache
def _asset(name: str) -> str:
    return (files("estimator.report.html") / name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    def tones(values: Sequence[str]) -> str:
        return "".join(f"--t{number}:{value};" for number, value in enumerate(values))

    signs = "".join(f".t{number}{{--tone:var(--t{number})}}" for number in range(len(TONES)))
    return (
        _asset("page.css")
        .replace("/*light-tones*/", tones(TONES))
        .replace("/*dark-tones*/", tones(DARK_TONES))
        + signs
    )
