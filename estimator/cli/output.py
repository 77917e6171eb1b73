"""Writing an answer to the terminal, a pipe or a file, whatever the console's encoding."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from estimator.report.blocks import Screen
    from estimator.report.render import Medium
    from estimator.results.base import Result

_USUAL_WIDTH = 80  # where a terminal says that it has none
# What stands in for characters that a console cannot show.
_ASCII = str.maketrans(
    {
        "→": "->", "×": "x", "—": "-", "–": "-", "µ": "u", "≥": ">=", "≤": "<=", "…": "...", "±": "+/-",  # noqa: RUF001
        "✓": "yes", "✗": "no", "·": "*", "━": "-", "─": "-", "│": "|", "≈": "~", "█": "#", "°": " deg",
        "²": "2", "³": "3", "“": '"', "”": '"', "’": "'",  # noqa: RUF001
        "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+",
        "▒": "=", "░": ":",
        **dict.fromkeys(map(chr, range(0x2801, 0x2900)), "."),  # braille, which plots draw lines with
    }
)  # fmt: skip


def emit(
    result: Result,
    screen: Callable[[], Screen],
    *,
    format_name: str | None,
    output: Path | None,
    rows: str = "",
) -> None:
    """Write a result to ``output`` (its suffix picks the format unless one is named) or to stdout.

    ``rows`` is the list of the result that CSV shows, where it is not the usual one.
    """
    from estimator.report.render import FORMATS, Medium, format_for_suffix

    if output is None:
        chosen = FORMATS.get(format_name or "table")
        write(sys.stdout, chosen.render(result, screen, replace(_medium(sys.stdout), rows=rows)))
        return
    by_suffix = FORMATS.get(format_name) if format_name else format_for_suffix(output.suffix)
    if by_suffix is None:
        raise InputError(
            f"cannot tell a format from the name {str(output)!r}",
            hint="end it in .json, .csv, .md, .html or .txt",
        )
    save(output, by_suffix.render(result, screen, Medium(rows=rows)))


def save(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None


def write(stream: TextIO, text: str) -> None:
    """Write text to a stream, with ASCII in place of what its encoding lacks."""
    encoding = stream.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, errors="replace").decode(encoding)
    stream.write(text)
    stream.flush()


def note(text: str) -> None:
    """Say something beside the answer: on stderr, and only to a person at a terminal."""
    if sys.stderr.isatty():
        write(sys.stderr, f"{text}\n")


def _medium(stream: TextIO) -> Medium:
    """Describe where stdout leads: COLUMNS wins over the terminal's own width, NO_COLOR over colour."""
    from estimator.report.render import Medium

    if not stream.isatty():
        return Medium()
    columns = os.environ.get("COLUMNS", "")
    width = (
        int(columns)
        if columns.isdigit() and int(columns) > 0
        else os.get_terminal_size().columns or _USUAL_WIDTH
    )
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Medium(width=max(width, 20), colour=colour)
