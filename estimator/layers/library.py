"""Brings in every family of layers, so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import estimator.layers
from estimator.layers.base import LAYERS

__all__ = ["LAYERS", "load_library"]


@cache
def load_library() -> None:
    """Import all modules of this package: a family is added by adding its file."""
    for module in pkgutil.iter_modules(estimator.layers.__path__):
        if not module.ispkg and module.name != "library":
            importlib.import_module(f"{estimator.layers.__name__}.{module.name}")


load_library()
