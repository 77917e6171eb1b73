"""The JSON Schema of a network file, for editors: generated from the registry of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.layers.library import LAYERS
from estimator.networks.language import recipe
from estimator.networks.language.binding import parameters_of
from estimator.networks.language.evaluation import MOST_REPEATS
from estimator.networks.language.kinds import or_expression
from estimator.networks.language.read import DTYPES, FORMAT
from estimator.networks.optimizers import OPTIMIZERS
from estimator.precision import POLICIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.layers.base import Layer
    from estimator.networks.language.kinds import Kind
    from estimator.registry import Registry

Schema = dict[str, Any]

_EXPRESSION: Schema = {"type": "string", "pattern": r"\$", "description": "$name or ${expression}"}
_LAYERS: Schema = {"$ref": "#/$defs/layers"}
_NAMES: Schema = {
    "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
}


def network_schema() -> Schema:
    """Return the schema (draft 2020-12) that editors use for completion and checks of network files.

    It knows every layer type with its arguments; it does not follow names, expressions or shapes.
    """
    types = {name: _layer(LAYERS.get(name)) for name in LAYERS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A neural network of estimator",
        "type": "object",
        "anyOf": [{"required": ["layers"]}, {"required": ["base"]}],
        "additionalProperties": False,
        "properties": {
            "format": {"const": FORMAT},
            "base": {"type": "string", "description": "the network of the zoo that says the rest"},
            "name": {"type": ["string", "number"]},
            "family": {"type": "string"},
            "source": {"type": "string", "description": "where the architecture is defined"},
            "params": {"type": "object", "description": "values that --set can replace"},
            "inputs": {"type": "object", "additionalProperties": {"$ref": "#/$defs/input"}},
            "blocks": {"type": "object", "additionalProperties": {"$ref": "#/$defs/block"}},
            "layers": _LAYERS,
            "outputs": _NAMES,
            "loss": _LAYERS,
            "training": {"$ref": "#/$defs/training"},
        },
        "$defs": {
            "input": _input(),
            "block": _block(),
            "expression": _EXPRESSION,
            "layers": {
                "if": {"type": "array"},
                "then": {"items": {"$ref": "#/$defs/layer"}},
                "else": {"$ref": "#/$defs/layer"},
            },
            "layer": _any_layer(list(types)),
            "training": training_schema(),
            "containers": {"Sequential": _sequential(), "Residual": _residual(), "Parallel": _parallel()},
            "types": types,
        },
    }


def training_schema() -> Schema:
    """Return the schema of a recipe: the ``training:`` section, or a file of its own."""
    optimizer: Schema = {
        "oneOf": [
            {"enum": list(OPTIMIZERS)},
            {
                "type": "object",
                "required": ["type"],
                "additionalProperties": False,
                "properties": {"type": {"type": "string"}, **_values(recipe.OPTIMIZER_ARGUMENTS)},
            },
        ]
    }
    return _mapping(
        {
            **_values(recipe.NUMBERS),
            "precision": _registered(POLICIES),
            "optimizer": optimizer,
            "software": _mapping(_values(recipe.SOFTWARE)),
            "input_pipeline": _mapping(_values(recipe.PIPELINE)),
        }
    )


def _registered(registry: Registry[Any]) -> Schema:
    return {"enum": list(registry)}


def _mapping(properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _values(kinds: Mapping[str, Kind]) -> Schema:
    return {name: or_expression(kind.schema()) for name, kind in kinds.items()}


def _layer(cls: type[Layer]) -> Schema:
    """Return the schema of a layer's arguments; ``description`` is its docstring's first line."""
    parameters = parameters_of(cls)
    properties = {
        name: {**or_expression(parameter.kind.schema()), **_default(parameter.default)}
        for name, parameter in parameters.items()
    }
    required = [name for name, parameter in parameters.items() if parameter.is_required]
    return {
        "description": (cls.__doc__ or "").strip().split("\n")[0],
        **_with_reserved(properties),
        **({"required": required} if required else {}),
    }


def _with_reserved(properties: Schema) -> Schema:
    """Return properties beside which only the keys every layer has may stand."""
    return {"properties": properties, "propertyNames": {"enum": [*properties, *_reserved()]}}


def _default(value: object) -> Schema:
    if isinstance(value, bool | int | float | str):
        return {"default": value}
    return {"default": list(value)} if isinstance(value, tuple) else {}


def _reserved() -> Schema:
    return {
        "type": {"type": "string"},
        "name": {"type": "string"},
        "from": {**_NAMES, "description": "names of layers or inputs; the output above is prev"},
        "repeat": or_expression({"type": ["integer", "boolean"], "minimum": 0, "maximum": MOST_REPEATS}),
        "var": {"type": "string", "default": "i", "description": "name of the repeat's counter"},
        "times": {
            **or_expression({"type": "integer", "minimum": 1, "maximum": MOST_REPEATS}),
            "description": "how often it runs, with the same weights: the steps of a decoder",
        },
        "reuse": {"type": "string", "description": "the layers of that name again, with the same weights"},
        "tie": {"type": "string", "description": "the weight is that layer's"},
        "trainable": or_expression({"type": "boolean"}),
        "training_only": or_expression({"type": "boolean"}),
    }


def _any_layer(names: list[str]) -> Schema:
    """Return the schema of a layer: a word, or a mapping whose keys depend on its type."""
    conditions = [
        _when(
            {"type": "object", "required": ["type"], "properties": {"type": {"const": name}}},
            f"#/$defs/{folder}/{name}",
        )
        for folder, types in (("types", names), ("containers", ["Sequential", "Residual", "Parallel"]))
        for name in types
    ]
    mapping: Schema = {
        "type": "object",
        "properties": _reserved(),
        "anyOf": [{"required": ["type"]}, {"required": ["reuse"]}, {"required": ["layers"]}],
        "allOf": conditions,
    }
    word: Schema = {"anyOf": [{"enum": names}, {"type": "string"}]}
    return {"if": {"type": "string"}, "then": word, "else": mapping}


def _when(condition: Schema, reference: str) -> Schema:
    return {"if": condition, "then": {"$ref": reference}}


def _input() -> Schema:
    shape: Schema = {"type": "array", "items": or_expression({"type": "integer", "minimum": 1})}
    full = {
        **_mapping({"shape": or_expression(shape), "dtype": {"enum": list(DTYPES)}}),
        "required": ["shape"],
    }
    return {"oneOf": [shape, full], "description": "shape without the batch dimension"}


def _block() -> Schema:
    arguments: Schema = {
        "type": ["object", "null"],
        "description": "names with defaults; without is required",
    }
    return {**_mapping({"args": arguments, "layers": _LAYERS}), "required": ["layers"]}


def _sequential() -> Schema:
    return {"required": ["layers"], **_with_reserved({"layers": _LAYERS})}


def _residual() -> Schema:
    properties = {
        "layers": _LAYERS,
        "shortcut": _LAYERS,
        "op": {"enum": ["add", "mul", "concat"], "default": "add"},
        "dim": or_expression({"type": "integer"}),
    }
    return {"required": ["layers"], **_with_reserved(properties)}


def _parallel() -> Schema:
    properties = {
        "branches": {"type": "array", "items": _LAYERS, "minItems": 1},
        "layers": _LAYERS,
        "merge": {"enum": ["Concat", "Add", "Mul", "Stack", "none"], "default": "Concat"},
        "dim": or_expression({"type": "integer"}),
    }
    return {
        **_with_reserved(properties),
        "oneOf": [{"required": ["branches"]}, {"required": ["layers", "repeat"]}],
    }
