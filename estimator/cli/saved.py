"""Reading a result that an earlier command saved as JSON."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, TypeVar

from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.results.base import Result

R = TypeVar("R", bound="Result")
_MOST_BYTES = 512 << 20


def read_saved(cls: type[R], path: Path) -> R:
    """Return the result in a file (``-``: stdin). Raises InputError for what is not one of that kind."""
    from estimator.results.loading import load_result

    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        if name == "<stdin>":
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None
    if len(raw) > _MOST_BYTES:
        raise InputError(f"{name} is too large for a saved result")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        hint = "give a file saved with -o FILE.json"
        raise InputError(f"{name}: not JSON: {str(error)[:100]}", hint=hint) from None
    return load_result(cls, data, where=name)
