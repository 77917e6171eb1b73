"""Reads results back from their JSON form, so that a saved one can be drawn again."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from estimator.errors import InputError
from estimator.results.schema import NAMES

if TYPE_CHECKING:
    from estimator.results.base import Result

R = TypeVar("R", bound="Result")


def load_result(cls: type[R], data: object, *, where: str) -> R:
    """Return the result that ``Result.to_mapping`` wrote; ``where`` names its file in messages.

    Raises InputError for another schema, a missing field or a value of another type.
    """
    made_by = f"estimator {cls.schema.split('/')[1]} … -f json"
    if not isinstance(data, dict) or data.get("schema") != cls.schema:
        found = data.get("schema") if isinstance(data, dict) else None
        said = f"its schema is {found!r}, not {cls.schema!r}" if found else "it has no schema"
        raise InputError(f"{where}: not a saved result: {said}", hint=f"make one with {made_by}")
    try:
        loaded: R = _object(cls, data, "")
    except _UnfitError as error:
        raise InputError(f"{where}: {error}", hint=f"make it again with {made_by}") from None
    return loaded


class _UnfitError(Exception):
    """A value is not what its type says."""


def _object(cls: type[Any], data: object, at: str) -> Any:  # noqa: ANN401 - whatever the class is
    if not isinstance(data, dict):
        raise _UnfitError(f"{at or 'the result'} is not an object")
    hints = get_type_hints(cls, localns=NAMES)
    missing = [f.name for f in fields(cls) if f.name not in data]
    if missing:
        raise _UnfitError(f"{at + '.' if at else ''}{missing[0]} is missing")
    return cls(
        **{f.name: _value(hints[f.name], data[f.name], f"{at}.{f.name}".lstrip(".")) for f in fields(cls)}
    )


def _value(hint: Any, value: object, at: str) -> Any:  # noqa: ANN401 - any annotation
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union(arguments, value, at)
    if origin is tuple:
        return _tuple(arguments, value, at)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise _UnfitError(f"{at} is not an object")
        return {key: _value(arguments[1], item, f"{at}.{key}") for key, item in value.items()}
    if is_dataclass(hint) and isinstance(hint, type):
        return _object(hint, value, at)
    return value if hint is Any else _basic(hint, value, at)


def _union(arguments: tuple[Any, ...], value: object, at: str) -> Any:  # noqa: ANN401
    if value is None and type(None) in arguments:
        return None
    (inner,) = [argument for argument in arguments if argument is not type(None)]
    return _value(inner, value, at)


def _tuple(arguments: tuple[Any, ...], value: object, at: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _UnfitError(f"{at} is not a list")
    if arguments[-1] is Ellipsis:
        return tuple(_value(arguments[0], item, f"{at}[{i}]") for i, item in enumerate(value))
    if len(arguments) != len(value):
        raise _UnfitError(f"{at} has {len(value)} values, not {len(arguments)}")
    pairs = enumerate(zip(arguments, value, strict=True))
    return tuple(_value(hint, item, f"{at}[{i}]") for i, (hint, item) in pairs)


def _basic(hint: Any, value: object, at: str) -> object:  # noqa: ANN401
    """Check a text, number or truth value; a whole number serves as a float, true does not as a number."""
    if issubclass(hint, Enum):
        if value not in [member.value for member in hint]:
            raise _UnfitError(f"{at} is none of {', '.join(str(member.value) for member in hint)}")
        return hint(value)
    kinds = (int, float) if hint is float else (hint,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and hint is not bool):
        raise _UnfitError(f"{at} is not {hint.__name__}")
    return value
