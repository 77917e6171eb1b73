"""Annotations of a layer's fields to kinds of arguments."""

from __future__ import annotations

import types
import typing
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from estimator.layers.arguments import Range
from estimator.networks.language.kinds import Choice, Either, Items, Nothing, Number, Text, Truth, Whole

if TYPE_CHECKING:
    from estimator.networks.language.kinds import Kind


def kind_of(annotation: Any, limits: Range | None = None) -> Kind:  # noqa: ANN401 - annotations are any
    """Return the kind an annotation stands for. Raises TypeError for one that has no kind."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        inner, *notes = typing.get_args(annotation)
        found = [note for note in notes if isinstance(note, Range)]
        return kind_of(inner, found[0] if found else limits)
    if origin is Literal:
        return Choice(typing.get_args(annotation))
    if origin in (typing.Union, types.UnionType):
        return Either(tuple(kind_of(part, limits) for part in typing.get_args(annotation)))
    if origin is tuple:
        parts = typing.get_args(annotation)
        if len(parts) == 2 and parts[1] is Ellipsis:  # noqa: PLR2004 - tuple[x, ...]
            return Items(kind_of(parts[0], limits))
        if len(set(parts)) == 1:
            return Items(kind_of(parts[0], limits), len(parts))
    return _plain_kind(annotation, limits)


def _plain_kind(annotation: Any, limits: Range | None) -> Kind:  # noqa: ANN401 - as above
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return Choice(tuple(annotation))
    plain: dict[Any, Kind] = {
        int: Whole(limits), float: Number(limits), bool: Truth(), str: Text(), types.NoneType: Nothing()
    }  # fmt: skip
    if annotation not in plain:
        message = f"no kind of argument for {annotation!r}"
        raise TypeError(message)
    return plain[annotation]
