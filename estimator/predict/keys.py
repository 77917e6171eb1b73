"""Under which names a calibration holds what GPUs attain on a class of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.errors import InputError
from estimator.precision import HALVES, DType
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from estimator.hardware.efficiency import Regime, Scale
    from estimator.predict.table import Category
    from estimator.software import Layout


def winograd_key(category: Category) -> str:
    """Return the name of the Winograd path: for weight gradients cuDNN has it only in separate kernels."""
    return "winograd.wgrad" if category.phase is Phase.WGRAD else "winograd"


def regime_key(regimes: Mapping[str, Regime], category: Category, path: str, layout: Layout) -> str:
    """Return the name of the most specific efficiency there is: by kind, phase, path and layout."""
    for key in regime_keys(category, path, layout):
        if key in regimes:
            return key
    raise InputError(f"the calibration holds no efficiency for kernels of kind {category.kind!r}")


def library_speed(scale: Scale, category: Category) -> tuple[str | None, float]:
    """Return the entry of ``scale.kinds`` that holds for a class of kernels, and its value; 1 without one."""
    for name in library_kinds(category):
        if name in scale.kinds:
            return name, scale.kinds[name]
    return None, 1.0


def library_kinds(category: Category) -> tuple[str, ...]:
    """Return the names under which ``Scale.kinds`` may hold a class of kernels, the most specific first."""
    stem = category.stem
    if category.dtype is DType.FP64:
        return f"{stem}/fp64", stem
    either = f"{stem}@{category.direction}", stem
    return (f"{stem}/half", *either) if category.dtype in HALVES else either


def regime_keys(category: Category, path: str, layout: str) -> Iterator[str]:
    """Give the names an efficiency may stand under, most specific first."""
    for name in category.names():
        yield f"{name}/{path}/{layout}"
        yield f"{name}/{path}"
        yield name
