"""The kinds of values an argument accepts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from estimator.errors import suggestion
from estimator.layers.arguments import LARGEST
from estimator.networks.language.arithmetic import shown

if TYPE_CHECKING:
    from estimator.layers.arguments import Range
    from estimator.networks.language.tokens import Value


class RefusedError(ValueError):
    """A value is not of the kind; ``is_near`` when its type is right and only its size is not."""

    def __init__(self, message: str, hint: str | None = None, *, is_near: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.is_near = is_near


def or_expression(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that may also be computed (``$defs/expression`` of the document)."""
    return {"anyOf": [schema, {"$ref": "#/$defs/expression"}]}


class Kind(ABC):
    """One kind of value: what it is called, what it accepts, how a JSON Schema says it."""

    name: str

    @abstractmethod
    def accept(self, value: Value) -> Any:  # noqa: ANN401 - an argument can be of any type
        """Return the argument. Raises RefusedError."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the written value."""

    def refuse(self, value: Value, hint: str | None = None) -> RefusedError:
        """Return the usual refusal."""
        return RefusedError(f"expected {self.name}, got {shown(value)}", hint)


def _bounded(value: float, limits: Range | None) -> None:
    if limits is None:
        return
    if value < limits.low:
        text = "must not be negative" if limits.low == 0 else f"must be at least {limits.low:g}"
        raise RefusedError(f"{text}, got {value}", is_near=True)
    if value > limits.high:
        raise RefusedError(f"must be at most {limits.high:,}, got {value:,}", is_near=True)


def _bounds(limits: Range | None) -> dict[str, Any]:
    if limits is None:
        return {}
    return {"minimum": limits.low, **({"maximum": limits.high} if limits.high != LARGEST else {})}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number."""

    limits: Range | None
    name: str = "a whole number"

    def accept(self, value: Value) -> int:
        """Take an int."""
        if isinstance(value, bool) or not isinstance(value, int):
            is_whole_float = isinstance(value, float) and value.is_integer()
            raise self.refuse(value, "for a whole quotient write //" if is_whole_float else None)
        _bounded(value, self.limits)
        return value

    def schema(self) -> dict[str, Any]:
        """Give an integer with bounds."""
        return {"type": "integer", **_bounds(self.limits)}


@dataclass(frozen=True)
class Number(Kind):
    """A number, whole or not."""

    limits: Range | None
    name: str = "a number"

    def accept(self, value: Value) -> float:
        """Take a finite int or float."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(value)
        if not math.isfinite(value):
            raise RefusedError(f"must be a finite number, got {value}")
        _bounded(value, self.limits)
        return float(value)

    def schema(self) -> dict[str, Any]:
        """Give a number with bounds."""
        return {"type": "number", **_bounds(self.limits)}


@dataclass(frozen=True)
class Truth(Kind):
    """True or false."""

    name: str = "true or false"

    def accept(self, value: Value) -> bool:
        """Take a bool."""
        if not isinstance(value, bool):
            raise self.refuse(value, "YAML 1.2 knows only true and false" if value in _OLD_TRUTHS else None)
        return value

    def schema(self) -> dict[str, Any]:
        """Give a boolean."""
        return {"type": "boolean"}


_OLD_TRUTHS = frozenset(
    {"yes", "no", "on", "off", "Yes", "No", "On", "Off", "YES", "NO", "ON", "OFF", "y", "n"}
)


@dataclass(frozen=True)
class Text(Kind):
    """Any text."""

    name: str = "text"

    def accept(self, value: Value) -> str:
        """Take a str."""
        if not isinstance(value, str):
            raise self.refuse(value)
        return value

    def schema(self) -> dict[str, Any]:
        """Give a string."""
        return {"type": "string"}


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few values."""

    options: tuple[Any, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """List the options."""
        return "one of " + ", ".join(str(option) for option in self.options)

    def accept(self, value: Value) -> Any:  # noqa: ANN401 - as in Kind
        """Take an option as it is written."""
        for option in self.options:
            if option == value and isinstance(option, bool) == isinstance(value, bool):
                return option
        near = suggestion(value, [str(option) for option in self.options]) if isinstance(value, str) else None
        raise self.refuse(value, near)

    def schema(self) -> dict[str, Any]:
        """Give an enumeration."""
        return {"enum": [option.value if isinstance(option, Enum) else option for option in self.options]}


@dataclass(frozen=True)
class Nothing(Kind):
    """The absence of a value."""

    name: str = "null"

    def accept(self, value: Value) -> None:
        """Take None."""
        if value is not None:
            raise self.refuse(value)

    def schema(self) -> dict[str, Any]:
        """Give null."""
        return {"type": "null"}


@dataclass(frozen=True)
class Items(Kind):
    """A list of one kind; ``count`` when its length is fixed."""

    item: Kind
    count: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """Say what is in the list."""
        how_many = f"{self.count} " if self.count else ""
        return f"a list of {how_many}{self.item.name.removeprefix('a ')}s"

    def accept(self, value: Value) -> tuple[Any, ...]:
        """Take a list whose items are all accepted."""
        if not isinstance(value, tuple) or (self.count is not None and len(value) != self.count):
            raise self.refuse(value)
        try:
            return tuple(self.item.accept(item) for item in value)
        except RefusedError as error:
            raise RefusedError(error.message, error.hint, is_near=True) from None

    def schema(self) -> dict[str, Any]:
        """Give an array."""
        size = {"minItems": self.count, "maxItems": self.count} if self.count else {}
        return {"type": "array", "items": or_expression(self.item.schema()), **size}


@dataclass(frozen=True)
class Either(Kind):
    """One of several kinds; the first that accepts decides."""

    kinds: tuple[Kind, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """Join the names."""
        return " or ".join(kind.name for kind in self.kinds if not isinstance(kind, Nothing))

    def accept(self, value: Value) -> Any:  # noqa: ANN401 - as in Kind
        """Ask each kind; a value of the right type that is out of bounds is refused for that reason."""
        refusals: list[RefusedError] = []
        for kind in self.kinds:
            try:
                return kind.accept(value)
            except RefusedError as error:
                refusals.append(error)
        near = [error for error in refusals if error.is_near or (error.hint and isinstance(value, str))]
        written = [kind for kind in self.kinds if not isinstance(kind, Nothing)]
        if near and (near[0].is_near or len(written) == 1):
            raise near[0]
        raise self.refuse(value, next((error.hint for error in refusals if error.hint), None))

    def schema(self) -> dict[str, Any]:
        """Give any of the schemas."""
        return {"anyOf": [kind.schema() for kind in self.kinds]}
