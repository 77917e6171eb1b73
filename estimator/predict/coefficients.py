"""Reads a calibration from nested mappings, and writes one as such."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from estimator.errors import InputError, suggestion
from estimator.hardware.efficiency import (
    Calibration,
    CpuEfficiency,
    CpuRegime,
    GpuEfficiency,
    Regime,
    Scale,
    SoftwareFactors,
    Spread,
)
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

_COMMUNICATION = ("exposure", "straggler", "hidden_share", "least_exposed")
_PROVENANCE = ("source", "basis", "note")


def coefficients_from_mapping(data: Mapping[str, Any]) -> Calibration:
    """Return the calibration that ``data`` holds: keys as in ``Calibration``, nested as its fields are.

    Raises InputError with the path of the key for what is missing, unknown or out of bounds.
    """
    try:
        gpu, cpu = data["gpu"], data["cpu"]
    except KeyError as error:
        raise InputError(f"the calibration lacks its part {error}") from None
    return Calibration(
        gpu=_make(
            GpuEfficiency,
            gpu | {
                "regimes": _each(Regime, gpu["regimes"], "gpu.regimes"),
            },
            "gpu",
        ),
        cpu=_make(CpuEfficiency, cpu | {"regimes": _each(CpuRegime, cpu["regimes"], "cpu.regimes")}, "cpu"),
        vendors=_each(Scale, data.get("vendors", {}), "vendors"),
        architectures=_each(Scale, data.get("architectures", {}), "architectures"),
        devices=_each(Scale, data.get("devices", {}), "devices"),
        software=tuple(
            _make(SoftwareFactors, entry, f"software[{i}]")
            for i, entry in enumerate(data.get("software", ()))
        ),
        spreads={key: _spread(key, value) for key, value in data.get("spreads", {}).items()},
        **data.get("communication", {}),
    )  # fmt: skip


def coefficients_to_mapping(calibration: Calibration) -> dict[str, Any]:
    """Return what ``coefficients_from_mapping`` reads back as an equal calibration."""
    data: dict[str, Any] = _plain(calibration)
    for spread in data.get("spreads", {}).values():
        del spread["tier"]
    communication = {name: getattr(calibration, name) for name in _COMMUNICATION}
    return {key: value for key, value in data.items() if key not in communication} | {
        "communication": communication
    }


def _spread(key: str, value: Mapping[str, Any]) -> Spread:
    quantiles = {float(coverage): float(q) for coverage, q in value["quantiles"].items()}
    return _make(Spread, dict(value) | {"tier": key, "quantiles": quantiles}, f"spreads.{key}")


def _each(kind: Callable[..., T], table: Mapping[str, Any], where: str) -> dict[str, T]:
    return {key: _make(kind, value, f"{where}.{key}") for key, value in table.items()}


def _make(kind: Callable[..., T], values: Mapping[str, Any], where: str) -> T:
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    given = {key: value for key, value in values.items() if key not in _PROVENANCE}
    for key, value in given.items():
        if key not in known:
            raise InputError(f"{where}: unknown coefficient {key!r}", hint=suggestion(key, known))
        _check(value, f"{where}.{key}")
    if "source" in values:
        given["provenance"] = Provenance(
            source=values["source"], basis=Basis(values["basis"]), note=values.get("note", "")
        )
    try:
        return kind(**given)
    except TypeError as error:
        raise InputError(f"{where}: {error}") from None


def _check(value: object, where: str) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value < float("inf"):
        raise InputError(f"{where}: {value} is not a number from 0 up")


def _plain(value: Any) -> Any:  # noqa: ANN401  (any field of any of the dataclasses)
    if isinstance(value, Provenance):
        return {"source": value.source, "basis": str(value.basis), "note": value.note}
    if is_dataclass(value):
        plain: dict[str, Any] = {}
        for field in fields(value):
            item = getattr(value, field.name)
            if field.name == "provenance":
                plain |= {} if item is None else {k: v for k, v in _plain(item).items() if v}
            elif item is not None and item != field.default and item not in ({}, ()):
                plain[field.name] = _plain(item)
        return plain
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    return value
