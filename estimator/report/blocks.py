"""What a screen is made of: lines of text, tables, lists of facts and plots, before any format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from estimator.report.plots.figure import Figure

Align: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading (with the unit) and on which side its cells stand.

    Where a terminal is narrow, ``optional`` columns are left out, the last first, and ``fold`` ones (the
    first always) wrap; all others are shown whole.
    """

    heading: str
    align: Align = "right"
    optional: bool = False
    fold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under headings; ``name`` is what CSV and Markdown call it, ``emphasis`` marks rows.

    ``keys`` (same shape as ``rows``) is what a page sorts cells by: numbers in base units, None for a cell
    without a value, or text. Without them cells are sorted by their text.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    emphasis: frozenset[int] = field(default_factory=frozenset)
    keys: tuple[tuple[float | str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The first line of a screen: the answer to the question."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A line of prose; ``kind`` decides how loudly it is said."""

    text: str
    kind: Literal["plain", "dim", "warning", "next"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Label and value pairs under a heading."""

    title: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section of a longer answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot; formats of text alone leave it out: what it shows stands in a table beside it."""

    figure: Figure


Block: TypeAlias = Answer | Paragraph | Table | Facts | Heading | Drawing
Screen: TypeAlias = tuple[Block, ...]
