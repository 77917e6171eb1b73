"""Values of other people's JSON, each checked where it is read: an error names the file and the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 2**31 - 1  # of a size, as our layers have it
MOST_LAYERS = 10_000  # as our 'repeat' has it


def read_json(text: str, name: str) -> Any:  # noqa: ANN401 - any JSON
    """Return what a JSON text says. Raises InputError for what is no JSON, or nested without an end."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError(f"{name}: nested too deeply to be a model's JSON") from None
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None


class Settings(Mapping[str, Any]):
    """A mapping of JSON that knows where it stands (``config.json``, ``model.json: layer 'dense'``).

    ``notes`` are what a reader must be told about what was made of it.
    """

    def __init__(self, values: object, where: str) -> None:
        """Keep the mapping. Raises InputError where it is none."""
        if not isinstance(values, dict):
            raise InputError(f"{where}: {_shown(values)} stands where settings by name are expected")
        self._values: dict[str, Any] = values
        self.where = where
        self.notes: list[str] = []

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a value of JSON
        """Return a value. Raises InputError where there is none."""
        if key not in self._values:
            raise InputError(f"{self.where}: no {key!r} in it")
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - a value of JSON
        """Return a value, or the default where there is none."""
        return self._values.get(key, default)

    def __iter__(self) -> Iterator[str]:
        """Give the keys."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._values)

    def wrong(self, key: str, expected: str) -> InputError:
        """Return the error about a value that is not what it should be."""
        return InputError(f"{self.where}: {key}: {_shown(self._values.get(key))} is no {expected}")

    def with_defaults(self, **defaults: Any) -> Settings:  # noqa: ANN401 - values of JSON
        """Return the same with values for what is missing; notes go to the same list."""
        given = {key: value for key, value in self._values.items() if value is not None}
        made = Settings(self._values | defaults | given, self.where)
        made.notes = self.notes
        return made

    def given(self, *keys: str) -> str | None:
        """Return the first of the keys that has a value."""
        return next((key for key in keys if self._values.get(key) is not None), None)

    def count(self, *keys: str, default: int | None = None, most: int = LARGEST, least: int = 1) -> int:
        """Return the positive whole number under the first of the keys that has a value."""
        key = self.given(*keys)
        if key is None:
            if default is None:
                raise InputError(f"{self.where}: no {keys[0]!r} in it")
            return default
        value = self._values[key]
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.wrong(key, "positive whole number" if least == 1 else f"whole number from {least} on")
        if value > most:
            raise InputError(
                f"{self.where}: {key}: {_shown(value)} is more than {most}, the most there can be"
            )
        return value

    def layers(self, *keys: str) -> int:
        """Return a number of layers."""
        return self.count(*keys, most=MOST_LAYERS)

    def number(self, key: str, default: float) -> float:
        """Return a number that is one: no text, no truth, no NaN."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < float("inf"):
            raise self.wrong(key, "number")
        return value

    def share(self, key: str, default: float) -> float:
        """Return a number from 0 to 1."""
        value = self.number(key, default)
        if not 0 <= value <= 1:
            raise self.wrong(key, "number from 0 to 1")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a truth value."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def word(self, key: str, default: str) -> str:
        """Return a text."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def counts(self, key: str, length: int | None = None, *, least: int = 1) -> tuple[int, ...]:
        """Return a list of whole numbers, of ``length`` if that is said."""
        value = self[key]
        whole = isinstance(value, list) and all(
            isinstance(v, int) and not isinstance(v, bool) and least <= v <= LARGEST for v in value
        )
        if not whole or not value or (length is not None and len(value) != length):
            size = "" if length is None else f"{length} "
            raise self.wrong(key, f"list of {size}{'positive ' if least else ''}whole numbers")
        return tuple(value)

    def sizes(self, key: str, dims: int, default: Any = None, *, least: int = 1) -> tuple[int, ...]:  # noqa: ANN401
        """Return one whole number for each of ``dims`` dimensions, where one for all may be written."""
        if self._values.get(key) is None and default is not None:
            return default if isinstance(default, tuple) else (default,) * dims
        if isinstance(self.get(key), list):
            found = self.counts(key, least=least)
            if len(found) not in (1, dims):
                raise self.wrong(key, f"list of {dims} whole numbers")
            return found * dims if len(found) == 1 else found
        return (self.count(key, least=least),) * dims

    def same(self, **allowed: Any) -> None:  # noqa: ANN401 - values of JSON
        """Raise InputError for a setting that is not the one that can be described."""
        for key, value in allowed.items():
            found = self._values.get(key)
            if found is not None and found != value:
                raise InputError(
                    f"{self.where}: {key}: {_shown(found)} is not described by this family",
                    hint="convert the module itself: torch:module:callable",
                )


def _shown(value: object) -> str:
    """Return a value as JSON has it, cut where it is long."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        text = "something nested"
    most = 60
    return text if len(text) <= most else f"{text[: most - 1]}…"
