"""What may stand in a profile: rules that check a parsed text and say what is wrong where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from estimator.document import ListNode, MapNode, Scalar
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.document import Node


class Rule(Protocol):
    """Checks one node, adding what is wrong to ``errors``, and gives its plain value."""

    def read(self, node: Node, name: str, errors: list[InputError]) -> Any:  # noqa: ANN401 - any YAML value
        """Return the value without its places; what it is worth when errors were added is undefined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number within limits, both included."""

    low: float
    high: float
    whole: bool = False

    def read(self, node: Node, name: str, errors: list[InputError]) -> float | int | None:
        """Return the number."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            errors.append(InputError(f"{name} must be a number", at=node.at))
            return None
        if self.whole and value != int(value):
            errors.append(InputError(f"{name} must be a whole number", at=node.at))
        elif not self.low <= value <= self.high:
            hint = f"expected {self.low:g} to {self.high:g}; is the unit right?"
            errors.append(InputError(f"{name} is {value:g}, which no device has", at=node.at, hint=hint))
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text, of a given form or from a given set."""

    pattern: str | None = None
    choices: tuple[str, ...] = ()
    example: str = ""

    def read(self, node: Node, name: str, errors: list[InputError]) -> str:
        """Return the text."""
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, str) or not value:
            errors.append(InputError(f"{name} must be a text", at=node.at, hint="put it in quotes"))
            return ""
        if self.choices and value not in self.choices:
            hint = suggestion(value, self.choices) or f"one of {', '.join(self.choices)}"
            errors.append(InputError(f"{name} cannot be {value!r}", at=node.at, hint=hint))
        if self.pattern and not re.fullmatch(self.pattern, value):
            hint = f"write it as {self.example}"
            errors.append(InputError(f"{name} has the wrong form: {value!r}", at=node.at, hint=hint))
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, node: Node, name: str, errors: list[InputError]) -> bool:
        """Return the truth value."""
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, bool):
            errors.append(InputError(f"{name} must be true or false", at=node.at))
            return False
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list of things of one kind, without repetition."""

    item: Rule

    def read(self, node: Node, name: str, errors: list[InputError]) -> list[Any]:
        """Return the list."""
        if not isinstance(node, ListNode):
            errors.append(InputError(f"{name} must be a list", at=node.at, hint="write [one, two]"))
            return []
        values: list[Any] = []
        for item in node.items:
            value = self.item.read(item, f"an entry of {name}", errors)
            if value in values:
                errors.append(InputError(f"{name} holds {value!r} twice", at=item.at))
            values.append(value)
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping: of known keys (``fields``), or of any keys to things of one kind (``others``)."""

    fields: Mapping[str, Rule] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    others: Rule | None = None

    def read(self, node: Node, name: str, errors: list[InputError]) -> dict[str, Any]:
        """Return the mapping without keys whose value is null."""
        if not isinstance(node, MapNode):
            errors.append(InputError(f"{name} must be a mapping", at=node.at, hint="write 'key: value'"))
            return {}
        values: dict[str, Any] = {}
        for key_node, child in node.entries:
            key = str(key_node.value)
            rule = self.fields.get(key, self.others)
            if rule is None:
                hint = suggestion(key, self.fields) or f"known keys are {', '.join(self.fields)}"
                errors.append(InputError(f"unknown key {key!r} in {name}", at=key_node.at, hint=hint))
            elif not (isinstance(child, Scalar) and child.value is None):
                values[key] = rule.read(child, key, errors)
        errors.extend(
            InputError(f"{name} needs {key!r}", at=node.at) for key in self.required if key not in values
        )
        return values


@dataclass(frozen=True, slots=True)
class Either:
    """A text, or a mapping in its place."""

    text: Rule
    table: Rule

    def read(self, node: Node, name: str, errors: list[InputError]) -> Any:  # noqa: ANN401 - either kind
        """Return what stands there."""
        rule = self.table if isinstance(node, MapNode) else self.text
        return rule.read(node, name, errors)
