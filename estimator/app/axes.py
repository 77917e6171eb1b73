"""Ranges and lists of a sweep, ``32..1024*2`` or ``fp32,amp``, and the points they span."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_POINTS = 1_000_000
_RANGE = re.compile(r"(?P<low>\d+)\.\.(?P<high>\d+)(?:(?P<by>[*+])(?P<step>\d+(?:\.\d+)?))?")
_COMMA = re.compile(r",(?![^\[]*\])")  # not within [64, 128], which is one value
_FORMS = "write 64, 32,64,128, 32..1024*2 or 1..8+1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One setting that is swept: the flag it stands for, and its values in the order given."""

    name: str
    values: tuple[str | int, ...]


def parse_axis(name: str, text: str, *, numbers: bool = False) -> Axis:
    """Read the values of one axis; with ``numbers`` all must be whole and at least 1.

    Raises InputError for an empty or unreadable list, a range that never ends or a value given twice.
    """
    values: list[str | int] = []
    for part in _COMMA.split(text):
        values += _values(name, part.strip(), numbers=numbers)
    if len(set(values)) < len(values):
        double = next(v for i, v in enumerate(values) if v in values[:i])
        raise InputError(f"{name}: {double} is given twice")
    return Axis(name=name, values=tuple(values))


def _values(name: str, part: str, *, numbers: bool) -> list[str | int]:
    if ".." in part:
        return list(_range(name, part))
    if not part:
        raise InputError(f"{name}: a value is missing", hint=_FORMS)
    if not numbers:
        return [part]
    if not part.isdecimal() or int(part) < 1:
        raise InputError(f"{name}: cannot read {part!r} as a whole number from 1", hint=_FORMS)
    return [int(part)]


def _range(name: str, part: str) -> tuple[int, ...]:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise InputError(f"{name}: cannot read {part!r} as a range", hint=_FORMS)
    low, high = int(match["low"]), int(match["high"])
    step = float(match["step"] or 1)
    grows = match["by"] == "*"
    if low < 1 or low > high:
        raise InputError(f"{name}: {part!r} is empty", hint="a range goes up, from 1 at least")
    if step <= 1 if grows else (step < 1 or step != int(step)):
        hint = "a factor above 1, such as *2" if grows else "a whole step, such as +1"
        raise InputError(f"{name}: {part!r} never ends", hint=hint)
    values = [low]
    while len(values) <= MOST_POINTS:
        following = max(values[-1] + 1, round(values[-1] * step)) if grows else values[-1] + int(step)
        if following > high:
            return tuple(values)
        values.append(following)
    raise InputError(f"{name}: {part!r} has more than {MOST_POINTS:,} values", hint="take larger steps")


def points(axes: Sequence[Axis], *, zipped: bool) -> Iterator[Mapping[str, str | int]]:
    """Give every point as axis name to value: all combinations, or side by side.

    Side by side, axes of one value stand beside all; the others must be equally long.
    """
    names = [axis.name for axis in axes]
    if zipped:
        rows = zip(*(_beside(axis, _length(axes)) for axis in axes), strict=True)
        return (dict(zip(names, row, strict=True)) for row in rows)
    count = 1
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_POINTS:
        raise InputError(f"{count:,} points are more than {MOST_POINTS:,}", hint="give fewer values an axis")
    combinations = itertools.product(*(axis.values for axis in axes))
    return (dict(zip(names, row, strict=True)) for row in combinations)


def _length(axes: Sequence[Axis]) -> int:
    lengths = {axis.name: len(axis.values) for axis in axes if len(axis.values) > 1}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"--zip: the lists differ in length: {said}", hint="leave --zip out to combine all")
    return max(lengths.values(), default=1)


def _beside(axis: Axis, length: int) -> tuple[str | int, ...]:
    return axis.values * length if len(axis.values) == 1 else axis.values
