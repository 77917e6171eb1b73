"""What all results share: a schema name, the tool's version, and a plain mapping for JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from estimator import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: dict[type[Any], tuple[str, ...]] = {}  # asking a dataclass for its fields each time is slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A command's answer. Field names are the JSON keys, SI units in the names.

    ``main_rows`` is the field whose items are the rows of the answer's table; empty where there is none.
    """

    schema: ClassVar[str]
    main_rows: ClassVar[str] = ""

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data: ``schema``, ``tool_version`` and the fields."""
        return {"schema": self.schema, "tool_version": __version__, **_plain_fields(self)}


def _plain_fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    return {name: plain(getattr(value, name)) for name in _names(type(value))}


def _names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a dataclass; none of any other type."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    return _NAMES[kind]


def plain(value: Any) -> Any:  # noqa: ANN401, PLR0911 - any value of a result
    """Return ``value`` as JSON has it: dataclasses as mappings, enums as text, no NaN or infinity."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if _names(kind):
        return _plain_fields(value)
    if hasattr(value, "items"):
        mapping: Mapping[Any, Any] = value
        return {str(plain(key)): plain(item) for key, item in mapping.items()}
    return value
