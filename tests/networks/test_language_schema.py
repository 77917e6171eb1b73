"""The schema for editors, and the arguments of every registered layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import estimator
from estimator.layers.library import LAYERS
from estimator.networks.language.annotations import kind_of
from estimator.networks.language.binding import parameters_of
from estimator.networks.language.kinds import RefusedError
from estimator.networks.language.recipe import read_recipe
from estimator.networks.language.schema import network_schema

SCHEMA = network_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ZOO = sorted((Path(estimator.__file__).parent.parent / "profiles" / "networks").glob("*.yaml"))


def errors(text: str) -> list[str]:
    return [error.json_path for error in VALIDATOR.iter_errors(yaml.safe_load(text))]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]["types"]) == set(LAYERS)
    assert callable(read_recipe)


@pytest.mark.parametrize("path", ZOO, ids=lambda path: path.stem)
def test_the_schema_accepts_the_zoo(path: Path) -> None:
    assert errors(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("layers: [{type: Conv2d, out_channels: -8, kernel_size: 3}]", ["$.layers[0].out_channels"]),
        ("layers: [{type: Conv2d, kernel_size: 3}]", ["$.layers[0]"]),
        ("layers: [{type: Conv2d, out_channel: 8, out_channels: 8, kernel_size: 3}]", ["$.layers[0]"]),
        ("layers: [{type: Linear, out_features: 8, bias: 'no'}]", ["$.layers[0].bias"]),
        ("layers: [{type: Residual, layers: [{type: Linear}]}]", ["$.layers[0].layers[0]"]),
        ("layers: [{type: Parallel, layers: [ReLU]}]", ["$.layers[0]"]),
        ("layers: [3]", ["$.layers[0]"]),
        ("layers: [ReLU]\ninputs: {x: {shap: [3]}}", ["$.inputs.x"]),
        ("layers: [ReLU]\ntraining: {batch: 0}", ["$.training.batch"]),
        ("layer: [ReLU]\nlayers: [ReLU]", ["$"]),
        ("inputs: {x: [3]}", ["$"]),
    ],
)
def test_the_schema_refuses_mistakes_in_place(text: str, places: list[str]) -> None:
    assert errors(text) == places


@pytest.mark.parametrize("name", list(LAYERS))
def test_every_layer_can_be_written_with_the_arguments_of_its_example(name: str) -> None:
    cls = LAYERS.get(name)
    parameters = parameters_of(cls)
    written = {key: as_written(value) for key, value in cls.example.arguments.items()}
    accepted = {key: parameters[key].kind.accept(value) for key, value in written.items()}
    assert cls(**accepted) == cls(**cls.example.arguments)
    for key, parameter in parameters.items():
        assert parameter.kind.name, key
        if not parameter.is_required and parameter.default is not None:
            assert parameter.kind.accept(as_written(parameter.default)) == parameter.default


def as_written(value: Any) -> Any:  # noqa: ANN401 - whatever an argument is
    """Return a value as a document gives it: lists as tuples, choices as text."""
    if isinstance(value, list | tuple):
        return tuple(as_written(item) for item in value)
    return str(value) if isinstance(value, str) else value


def test_kinds_say_what_they_expect() -> None:
    kind = kind_of(int | tuple[int, ...] | None)
    assert kind.name == "a whole number or a list of whole numbers"
    assert kind.accept(None) is None
    assert kind.accept((1, 2)) == (1, 2)
    with pytest.raises(RefusedError, match="got 'x'"):
        kind.accept((1, "x"))
    assert kind_of(tuple[int, int]).name == "a list of 2 whole numbers"
    with pytest.raises(TypeError):
        kind_of(bytes)
