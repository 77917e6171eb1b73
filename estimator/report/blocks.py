"""What a screen is made of: lines of text, tables and lists of facts, before any format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

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
    """Rows of text under headings; ``name`` is what CSV and Markdown call it, ``emphasis`` marks rows."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    emphasis: frozenset[int] = field(default_factory=frozenset)


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


Block: TypeAlias = Answer | Paragraph | Table | Facts
Screen: TypeAlias = tuple[Block, ...]
