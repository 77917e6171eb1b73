"""All families of layers at once: for whoever walks over the whole registry, and to index it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import estimator.layers
from estimator.layers.base import LAYERS

__all__ = ["LAYERS", "families_text", "load_library"]


@cache
def load_library() -> None:
    """Import all modules of this package: a family is added by adding its file."""
    for module in pkgutil.iter_modules(estimator.layers.__path__):
        if not module.ispkg and module.name != "library":
            importlib.import_module(f"{estimator.layers.__name__}.{module.name}")


def families_text() -> str:
    """Return the index of the layer types as ``families.py`` has it."""
    load_library()
    found: dict[str, list[str]] = {}
    for name in LAYERS:
        family = LAYERS.get(name).__module__.removeprefix("estimator.layers.")
        found.setdefault(family, []).append(name)
    lines = ["FAMILIES: dict[str, tuple[str, ...]] = {"]
    for family, names in sorted(found.items()):
        if len(names) == 1:  # as the formatter writes it
            lines.append(f'    "{family}": ("{names[0]}",),')
        else:
            lines += [f'    "{family}": (', *(f'        "{name}",' for name in names), "    ),"]
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    print(families_text(), end="")  # noqa: T201 - for whoever added a layer
