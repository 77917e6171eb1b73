"""Makes the image size a parameter: numbers that change with it become formulas of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.convert.entries import Converted, Entry

_TELLING = 8  # sizes that tell one parity from another
_HALVINGS = (1, 2, 4, 8, 16, 32, 64)
_DIVISORS = (1, 2, 4, 8, 16, 32, 64, 128, 7, 14, 28, 56, 112, 6, 12, 24, 48, 10, 20, 40, 3, 5, 9, 18, 36)


@dataclass(frozen=True, slots=True)
class Formula:
    """A number of the image size, as an expression; ``values`` are those it was found from."""

    text: str
    values: tuple[int, ...]


class NoFormulaError(Exception):
    """The structure, or a number, changes with the image size in a way no formula says."""


def generalised(networks: Sequence[Converted], sizes: Sequence[int], name: str = "image") -> Converted:
    """Return the first network with formulas of the image size; the others are of other sizes.

    At least three sizes are needed: two make a formula and the others check it.
    """
    first = networks[0]
    if any(len(n.entries) != len(first.entries) for n in networks):
        raise NoFormulaError("another number of layers")
    known: dict[tuple[int, ...], Formula] = {}
    entries = [
        _entry(group, sizes, name, known) for group in zip(*(n.entries for n in networks), strict=True)
    ]
    return replace(first, entries=entries)


def _entry(
    group: tuple[Entry, ...], sizes: Sequence[int], name: str, known: dict[tuple[int, ...], Formula]
) -> Entry:
    first = group[0]
    for other in group[1:]:
        if other.type != first.type or other.inputs != first.inputs or set(other.args) != set(first.args):
            raise NoFormulaError(f"{first.path}: {first.type} or {other.type}")
    args = {key: _value([entry.args[key] for entry in group], sizes, name, known) for key in first.args}
    return replace(first, args=args)


def _value(values: list[Any], sizes: Sequence[int], name: str, known: dict[tuple[int, ...], Formula]) -> Any:  # noqa: ANN401 - an argument
    first = values[0]
    if all(v == first for v in values):
        return first
    if all(isinstance(v, list) for v in values) and len({len(v) for v in values}) == 1:
        return [_value(list(column), sizes, name, known) for column in zip(*values, strict=True)]
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        raise NoFormulaError(f"{values} is no number of the image size")
    vector = tuple(values)
    if vector not in known:
        text = formula(vector, sizes, name)
        if text is None:
            raise NoFormulaError(f"no formula for {vector} at image sizes {tuple(sizes)}")
        known[vector] = Formula("${" + text + "}", vector)
    return known[vector]


def formula(values: Sequence[int], sizes: Sequence[int], name: str) -> str | None:
    """Return the simplest expression that gives ``values`` at ``sizes``, or None.

    Tried: a·u + b and a·u² + b of u = the size over a divisor, rounded down or up; then a·u·w of two, and
    u mod 2 + b: padding that keeps half of a side is one more where the side is odd. Numbers below zero are
    the negatives of what gives their amounts.
    """
    if max(values) < 0:
        amount = formula([-value for value in values], sizes, name)
        return amount and f"-({amount})"
    units = _units(sizes, name, _DIVISORS)
    for power in (1, 2, 4):
        for allow_offset in (False, True):
            for unit, text in units:
                found = _fit(values, [u**power for u in unit], " * ".join([text] * power), allow_offset)
                if found:
                    return found
    for unit, text in units:
        for other, other_text in units:
            product = [u * w for u, w in zip(unit, other, strict=True)]
            found = _fit(values, product, f"{text} * {other_text}", allow_offset=False)
            if found:
                return found
    return _square_of_offset(values, units) or _parity(values, _units(sizes, name, _HALVINGS))


def _units(sizes: Sequence[int], name: str, divisors: Sequence[int]) -> list[tuple[list[int], str]]:
    """Return the sizes over each divisor, rounded down and up, with their expressions."""
    units = []
    for divisor in divisors:
        down = [s // divisor for s in sizes]
        up = [-(-s // divisor) for s in sizes]
        units.append((down, name if divisor == 1 else f"({name} // {divisor})"))
        if up != down:
            units.append((up, f"(({name} + {divisor - 1}) // {divisor})"))
    return units


def _parity(values: Sequence[int], units: list[tuple[list[int], str]]) -> str | None:
    """Return ``u % 2 + b`` where it gives all values, of the one u that does.

    Few sizes fit several, most of them by chance, and multiples say nothing of odd sizes: then it is none.
    """
    if len(values) < _TELLING:
        return None
    found = []
    for unit, text in units:
        offset = values[0] - unit[0] % 2
        if offset >= 0 and all(u % 2 + offset == v for u, v in zip(unit, values, strict=True)):
            found.append(f"{text} % 2 + {offset}" if offset else f"{text} % 2")
    return found[0] if len(found) == 1 else None


def _fit(values: Sequence[int], unit: list[int], text: str, allow_offset: bool) -> str | None:  # noqa: FBT001
    """Return ``factor * text + offset`` where it gives all values, with small whole numbers."""
    if unit[1] == unit[0]:
        return None
    slope, rest = divmod(values[1] - values[0], unit[1] - unit[0])
    offset = values[0] - slope * unit[0]
    if rest or slope <= 0 or (offset and not allow_offset) or abs(offset) > 64:  # noqa: PLR2004 - more is chance
        return None
    if any(slope * u + offset != v for u, v in zip(unit, values, strict=True)):
        return None
    scaled = text if slope == 1 else f"{slope} * {text}"
    if slope == 1 and text.startswith("(") and text.count("(") == 1 and not offset:
        scaled = text[1:-1]
    return scaled + (f" + {offset}" if offset > 0 else f" - {-offset}" if offset else "")


def _square_of_offset(values: Sequence[int], units: list[tuple[list[int], str]]) -> str | None:
    """Return ``a (2 u + b)²`` kinds: tables of relative positions have (2 n - 1)² rows."""
    for unit, text in units:  # pairs of tokens: (u² + 1)²
        for offset in (1, 2, 3, 4, 5):
            side = f"({text} * {text} + {offset})"
            base = [u * u + offset for u in unit]
            found = _fit(values, [b * b for b in base], f"{side} * {side}", allow_offset=False)
            if found:
                return found
    for unit, text in units:
        for factor in (1, 2, 4):
            for offset in (-1, 1, -2, 2, 3, -3):
                base = [factor * u + offset for u in unit]
                side = f"({text} + {offset})" if offset > 0 else f"({text} - {-offset})"
                if factor != 1:
                    side = (
                        f"({factor} * {text} + {offset})"
                        if offset > 0
                        else f"({factor} * {text} - {-offset})"
                    )
                for extra in (False, True):
                    found = _fit(values, [b * b for b in base], f"{side} * {side}", extra)
                    if found:
                        return found
    return None
