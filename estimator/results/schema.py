"""JSON Schemas of results, derived from their types, so that the two cannot part."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from estimator import provenance
from estimator.results import (
    calibration,
    cluster,
    devices,
    explanation,
    measurement,
    memory,
    plan,
    prediction,
    prices,
    probing,
    report,
    roofline,
    sweep,
    work,
)
from estimator.results.calibration import CalibrationResult
from estimator.results.cluster import ClusterResult
from estimator.results.detection import DetectionResult
from estimator.results.devices import DeviceListResult, DeviceResult
from estimator.results.explanation import ExplanationResult
from estimator.results.measurement import MeasurementResult
from estimator.results.memory import MemoryResult
from estimator.results.networks import NetworkCheckResult, NetworkListResult
from estimator.results.plan import PlanResult
from estimator.results.prediction import ComparisonResult, PredictionResult
from estimator.results.prices import PriceListResult
from estimator.results.probing import CollectivesResult, LoaderResult
from estimator.results.report import ReportResult
from estimator.results.roofline import RooflineResult
from estimator.results.sweep import ScaleResult, SweepResult
from estimator.results.work import LayersResult

RESULTS = (
    DetectionResult, LayersResult, PredictionResult, ComparisonResult, DeviceListResult, DeviceResult,
    NetworkListResult, NetworkCheckResult, RooflineResult, ReportResult,
    SweepResult, ScaleResult, MemoryResult, PlanResult, PriceListResult,
    MeasurementResult, LoaderResult, CollectivesResult, ClusterResult, ExplanationResult, CalibrationResult,
)  # fmt: skip
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASIC = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
# Names that result modules import for type checkers only.
NAMES = {
    name: value
    for module in (
        prediction,
        devices,
        provenance,
        report,
        roofline,
        sweep,
        work,
        plan,
        memory,
        prices,
        measurement,
        probing,
        cluster,
        explanation,
        calibration,
    )
    for name, value in vars(module).items()
} | {"Mapping": Mapping}


def json_schema(result: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a result class."""
    definitions: dict[str, Any] = {}
    body = _object(result, definitions)
    body["properties"] = {
        "schema": {"const": result.schema},
        "tool_version": {"type": "string"},
        **body["properties"],
    }
    body["required"] = ["schema", "tool_version", *body["required"]]
    return {"$schema": _DIALECT, "title": result.schema, **body, "$defs": definitions}


def _object(cls: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(cls, localns=NAMES)
    return {
        "type": "object",
        "description": (cls.__doc__ or "").splitlines()[0],
        "properties": {f.name: _type(hints[f.name], definitions) for f in fields(cls)},
        "required": [f.name for f in fields(cls)],  # a result writes every field, null where unknown
        "additionalProperties": False,
    }


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any annotation
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(argument, definitions) for argument in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type(arguments[1], definitions)}
    if is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    return {"type": _BASIC[hint]} if hint in _BASIC else {}
