"""The registry with every family in it: ``from estimator.layers.library import LAYERS``."""

from __future__ import annotations

import importlib
import pkgutil

import estimator.layers
from estimator.layers.base import LAYERS

__all__ = ["LAYERS"]

# A family is added by adding its file: no list of families is kept anywhere.
for _module in pkgutil.iter_modules(estimator.layers.__path__):
    if not _module.ispkg and _module.name != "library":
        importlib.import_module(f"estimator.layers.{_module.name}")
