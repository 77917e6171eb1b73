"""The ``json`` format: indented, with what holds no further lists or mappings on one line."""

from __future__ import annotations

import json
from typing import Any

_LONGEST = 100  # characters of a mapping on one line, apart from rows of a list
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def render_json(value: Any, margin: str = "") -> str:  # noqa: ANN401 - any plain data
    """Return plain data as JSON: a row of a table is a line, so that long tables stay short and diff well."""
    if not isinstance(value, (dict, list)) or not value:
        return _encode(value)
    inner = margin + "  "
    if isinstance(value, list):
        items = [_encode(item) if _is_flat(item) else render_json(item, inner) for item in value]
        left, right = "[", "]"
    else:
        items = [f"{_encode(str(key))}: {_member(item, inner)}" for key, item in value.items()]
        left, right = "{", "}"
    return f"{left}\n{inner}" + f",\n{inner}".join(items) + f"\n{margin}{right}"


def _member(value: Any, margin: str) -> str:  # noqa: ANN401 - any plain data
    if _is_flat(value):
        line = _encode(value)
        if len(line) <= _LONGEST:
            return line
    return render_json(value, margin)


def _is_flat(value: Any) -> bool:  # noqa: ANN401 - any plain data
    """Tell whether a value holds no lists or mappings."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not any(isinstance(item, (dict, list)) for item in inside)
