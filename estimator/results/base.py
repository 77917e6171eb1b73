"""What all results share: a schema name, the tool's version, and a plain mapping for JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from estimator import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A command's answer. Field names are the JSON keys, SI units in the names."""

    schema: ClassVar[str]

    def to_mapping(self) -> dict[str, Any]:
        """Return plain data: ``schema``, ``tool_version`` and the fields."""
        return {"schema": self.schema, "tool_version": __version__, **_plain_fields(self)}


def _plain_fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    return {f.name: plain(getattr(value, f.name)) for f in fields(value)}


def plain(value: Any) -> Any:  # noqa: ANN401 - any value of a result
    """Return ``value`` as JSON has it: dataclasses as mappings, enums as text, no NaN or infinity."""
    if is_dataclass(value):
        return _plain_fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict) or hasattr(value, "items"):
        mapping: Mapping[Any, Any] = value
        return {str(plain(key)): plain(item) for key, item in mapping.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
