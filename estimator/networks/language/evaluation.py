"""Evaluating terms during expansion: values, counts and names, with errors told and work counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.networks.language.arithmetic import shown
from estimator.networks.language.parse import check_name
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from estimator.errors import Location
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.frame import Frame
    from estimator.networks.language.items import Common
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.terms import Term
    from estimator.networks.language.tokens import Value

MOST_REPEATS = 10_000
MOST_STEPS = 500_000  # layers, containers, repetitions and looks at whole lists: empty repeats end too
STEPS_OF_A_SCAN = 16  # about what a look at a list of a thousand costs in these


class _Failed:
    """In place of a value that could not be computed."""


class Evaluator:
    """Evaluates terms; what cannot be computed is reported and becomes None or a default."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._steps = 0

    def step(self, at: Location, count: int = 1) -> None:
        """Count work. Raises StopReadingError when it is more than a network can be."""
        self._steps += count
        if self._steps > MOST_STEPS:
            raise self._problems.stop("the network expands to too many repetitions", at)

    def afford(self, at: Location, count: int) -> None:
        """Raise StopReadingError where work to come would pass the limit; it is not counted yet."""
        if self._steps + count > MOST_STEPS:
            raise self._problems.stop("the network expands to too many repetitions", at)

    def scan(self, at: Location, count: int) -> None:
        """Count looks at whole lists."""
        if count:
            self.step(at, count * STEPS_OF_A_SCAN)

    def value(self, term: Term, values: Environment) -> Value:
        """Return a term's value, or None after reporting why there is none."""
        value = self._attempt(term, values)
        return None if isinstance(value, _Failed) else value

    def repeats(self, repeat: Term, values: Environment) -> int | bool:
        """Return how often an item is repeated: a number, or whether it is there at all."""
        value = self._attempt(repeat, values)
        if isinstance(value, int) and 0 <= value <= MOST_REPEATS:
            return value
        if not isinstance(value, _Failed):
            text = f"repeat must be a whole number from 0 to {MOST_REPEATS:,}, got {shown(value)}"
            self._problems.add(text, repeat.at)
        return 1

    def times(self, common: Common, frame: Frame) -> int:
        """Return how often an item runs, one time after the other, with all that is around it."""
        if common.times is None:
            return frame.times
        value = self._attempt(common.times, frame.values)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_REPEATS:
            if value * frame.times <= MOST_REPEATS:
                return value * frame.times
            self._problems.add(f"times within times: more than {MOST_REPEATS:,}", common.times.at)
        elif not isinstance(value, _Failed):
            text = f"times must be a whole number from 1 to {MOST_REPEATS:,}, got {shown(value)}"
            self._problems.add(text, common.times.at)
        return 1

    def truth(self, term: Term | None, values: Environment, *, default: bool) -> bool:
        """Return a truth value."""
        value = default if term is None else self._attempt(term, values)
        if isinstance(value, bool):
            return value
        if term is not None and not isinstance(value, _Failed):
            self._problems.add(f"expected true or false, got {shown(value)}", term.at)
        return default

    def _attempt(self, term: Term, values: Environment) -> Value | _Failed:
        self.scan(term.at, term.scans)
        if term.is_broken:
            return _Failed()
        try:
            return term.evaluate(values)
        except ExpressionError as error:
            self._problems.add(error.message, term.at, error.hint)
            return _Failed()

    def name(self, common: Common, values: Environment) -> str | None:
        """Return an item's name; one without an expression was checked when it was parsed."""
        if common.name is None:
            return None
        if common.name.is_constant:
            return str(common.name.constant)
        name = self.value(common.name, values)
        if name is None or not check_name(name, common.name.at, self._problems):
            return None
        return str(name)
