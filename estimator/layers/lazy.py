"""The registry of layer types, which loads a family of layers when one of its types is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeVar

from estimator.layers.families import FAMILIES
from estimator.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

_FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}


class LazyRegistry(Registry[T]):
    """Knows all names from the start; a name's module is imported, and so registered, at its first use."""

    def get(self, name: str) -> T:
        """Return the thing called ``name``, or raise InputError with a suggestion among all names."""
        if name in _FAMILY_OF and name not in self._items:
            importlib.import_module(f"estimator.layers.{_FAMILY_OF[name]}")
        return super().get(name)

    def _names(self) -> set[str]:
        return {*_FAMILY_OF, *self._items}

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in _FAMILY_OF

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names()))

    def __len__(self) -> int:
        return len(self._names())
