"""What can go wrong: each error says what, where and what to do, and knows its exit code."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

EXIT_CONDITION_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_FAILURE = 3
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a text: file, line and column, both counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Write the place as editors and compilers do."""
        return f"{self.file}:{self.line}:{self.column}"


class EstimatorError(Exception):
    """Base of all errors meant for people; never shown with a traceback."""

    exit_code: ClassVar[int] = EXIT_FAILURE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the message (what and where) and the hint (what to do)."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Give the message with its hint behind it."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class InputError(EstimatorError):
    """Something the user gave is wrong: a file, a flag, a name."""

    exit_code = EXIT_BAD_INPUT

    def __init__(self, message: str, *, at: Location | None = None, hint: str | None = None) -> None:
        """Keep where in the user's text it happened, if it was in a text."""
        super().__init__(message, hint=hint)
        self.at = at

    def __str__(self) -> str:
        """Put the place first, as compilers do."""
        text = super().__str__()
        return f"{self.at}: {text}" if self.at else text


class CombinedInputError(InputError):
    """All the errors of one file at once."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        """Keep every error, in the order of the text."""
        self.errors = tuple(sorted(errors, key=lambda e: (e.at.line, e.at.column) if e.at else (0, 0)))
        super().__init__("\n".join(str(error) for error in self.errors))

    def __str__(self) -> str:
        """One error a line."""
        return self.message


def combined(errors: Sequence[InputError]) -> InputError:
    """Return one error as it is, several as CombinedInputError; there is at least one."""
    return errors[0] if len(errors) == 1 else CombinedInputError(errors)


class ConditionFailedError(EstimatorError):
    """A condition the user asked for does not hold (``--must-fit``, ``--deadline``)."""

    exit_code = EXIT_CONDITION_FAILED


class MeasurementError(EstimatorError):
    """A real measurement could not be made."""


class MissingPackageError(EstimatorError):
    """An optional package is needed for this command and is not installed."""

    exit_code = EXIT_BAD_INPUT


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return ``did you mean 'x'?`` for the nearest known name, or None when nothing is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[near[0]]!r}?" if near else None
