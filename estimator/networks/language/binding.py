"""Arguments as written become a layer: each is checked against the field of its name."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from estimator.errors import suggestion
from estimator.layers.base import LayerError
from estimator.networks.language.annotations import kind_of
from estimator.networks.language.kinds import RefusedError
from estimator.networks.language.tokens import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from estimator.errors import Location
    from estimator.layers.base import Layer
    from estimator.networks.language.expression import Environment
    from estimator.networks.language.kinds import Kind
    from estimator.networks.language.problems import Problems
    from estimator.networks.language.terms import Term
    from estimator.networks.language.tokens import Value


@dataclass(frozen=True, slots=True)
class Argument:
    """A written argument: its name, where that stands, and its value."""

    name: str
    at: Location
    term: Term


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a layer type says about one of its arguments."""

    kind: Kind
    is_required: bool
    default: Any = None


@lru_cache(maxsize=1024)
def parameters_of(cls: type[Layer]) -> Mapping[str, Parameter]:
    """Return a layer type's arguments, in the order of its fields."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {
        field.name: Parameter(
            kind_of(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            field.default,
        )
        for field in dataclasses.fields(typing.cast("Any", cls))
        if field.init
    }


def check_names(
    what: str,
    written: Sequence[Argument],
    *,
    known: Iterable[str],
    required: Iterable[str],
    at: Location,
    problems: Problems,
) -> bool:
    """Report unknown arguments, or, when there are none, missing ones; return whether all is well."""
    names = list(known)
    unknown = [argument for argument in written if argument.name not in names]
    for argument in unknown:
        hint = suggestion(argument.name, names) or (
            f"it has {', '.join(names)}" if names else "it has no arguments"
        )
        problems.add(f"{what} has no argument {argument.name!r}", argument.at, hint)
    given = {argument.name for argument in written}
    missing = [] if unknown else [name for name in required if name not in given]
    for name in missing:
        problems.add(f"{what}: argument {name!r} is required", at)
    return not unknown and not missing


class Binder:
    """Makes layers from arguments; equal arguments give the same layer object."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._layers: dict[tuple[Any, ...], Layer] = {}

    def check(self, cls: type[Layer], written: Sequence[Argument], at: Location) -> bool:
        """Check the names of a layer's arguments, not yet their values."""
        parameters = parameters_of(cls)
        required = [name for name, parameter in parameters.items() if parameter.is_required]
        return check_names(
            cls.type_name, written, known=parameters, required=required, at=at, problems=self._problems
        )

    def layer(
        self, cls: type[Layer], written: Sequence[Argument], names: Environment, at: Location
    ) -> Layer | None:
        """Return the layer with its arguments evaluated, or None after reporting what is wrong.

        The arguments' names have been checked.
        """
        values: list[tuple[Argument, Value]] = []
        for argument in written:
            if argument.term.is_broken:
                continue
            try:
                values.append((argument, argument.term.evaluate(names)))
            except ExpressionError as error:
                self._problems.add(error.message, argument.term.at, error.hint)
        if len(values) < len(written):
            return None
        # 1, 1.0 and True are equal keys and different arguments, hence repr.
        key = (cls, *((argument.name, repr(value)) for argument, value in values))
        found = self._layers.get(key)
        if found is None and (made := self._make(cls, values, at)) is not None:
            found = self._layers[key] = made
        return found

    def _make(self, cls: type[Layer], values: Sequence[tuple[Argument, Value]], at: Location) -> Layer | None:
        parameters = parameters_of(cls)
        accepted: dict[str, Any] = {}
        for argument, value in values:
            try:
                accepted[argument.name] = parameters[argument.name].kind.accept(value)
            except RefusedError as error:
                text = f"{cls.type_name}.{argument.name}: {error.message}"
                self._problems.add(text, argument.term.at, error.hint)
        if len(accepted) < len(values):
            return None
        try:
            return cls(**accepted)
        except LayerError as error:
            places = {argument.name: argument.term.at for argument, _ in values}
            self._problems.add(error.message, places.get(error.argument or "", at), error.hint)
            return None
