"""The YAML parser's own errors, said so that a person knows what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from estimator.errors import InputError, Location

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINTS: tuple[tuple[str, str], ...] = (
    ("mapping values are not allowed", "quote text that contains ': ', or check the indentation"),
    ("did not find expected key", "check the indentation: keys of one mapping start in the same column"),
    ("did not find expected '-' indicator", "check the indentation: '-' items start in the same column"),
    ("did not find expected ',' or", "a ',' or the closing bracket is missing"),
    ("unexpected end of stream", "a closing quote or bracket is missing"),
    ("could not find expected ':'", "a ':' is missing after the key"),
    ("unknown escape character", "use single quotes, or write \\\\ for a backslash"),
    ("undefined tag handle", "tags are not supported: remove it"),
)


def syntax_error(error: yaml.YAMLError, text: str, file: str) -> InputError:
    """Say a parser's error as InputError: what, where, what to do."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return InputError(f"not valid YAML: {error}".splitlines()[0], at=Location(file, 1, 1))
    mark, problem = error.problem_mark, str(error.problem)
    at = Location(file, mark.line + 1, mark.column + 1)
    if "nesting depth" in problem:
        return InputError("nested too deep", at=at)
    lines = text.splitlines()
    opened = error.context_mark
    first = opened.line if opened else mark.line
    since = f" ({error.context}, line {first + 1})" if first != mark.line else ""
    hint = _hint(problem, lines[first : mark.line + 1], at)
    if mark.line >= len(lines):
        # The end of the text is no line to show: what was opened and never closed is.
        at = Location(file, opened.line + 1, opened.column + 1) if opened else Location(file, len(lines), 1)
        since = f" before the end of the text ({error.context})" if opened else " before the end of the text"
    return InputError(f"not valid YAML: {problem}{since}", at=at, hint=hint)


def _hint(problem: str, lines: Sequence[str], at: Location) -> str | None:
    last = lines[-1] if lines else ""
    character = last[at.column - 1 : at.column]
    if "cannot start any token" in problem:
        if character == "\t":
            return "indent with spaces: YAML does not allow tabs"
        return f"quote text that starts with {character!r}"
    if any("${" in line for line in lines) and "expected" in problem:
        return 'inside {...} and [...] an expression needs quotes: "${...}"'
    return next((hint for part, hint in _HINTS if part in problem), None)
