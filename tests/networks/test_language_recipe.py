"""The training recipe: its section in a network, its own file, optimizers by torch's names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.errors import CombinedInputError, InputError
from estimator.networks.language import recipe
from estimator.networks.language.read import read_network
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Checkpointing, Training
from estimator.precision import POLICIES
from estimator.software import Layout, Software

FULL = """
training:
  batch: 64
  accumulation: 4
  epochs: 90
  samples: 1281167
  precision: amp
  optimizer: {type: SGD, lr: 0.1, momentum: 0.9, nesterov: true}
  checkpointing: blocks
  validation_share: 0.04
  input_pipeline: {samples_per_s: 2500}
  software: {framework: pytorch, layout: channels_last, era: 2021}
"""


def read(text: str) -> Training:
    found: dict[str, Any] = dict(recipe.read_recipe(read_document(text, "recipe.yaml")))
    return Training(**found)


def test_a_recipe_sets_the_fields_of_training() -> None:
    training = read(FULL)
    assert (training.batch, training.accumulation, training.epochs, training.samples) == (64, 4, 90, 1281167)
    assert training.precision is POLICIES.get("amp")
    assert training.optimizer is OPTIMIZERS.get("nesterov")
    assert training.checkpointing is Checkpointing.BLOCKS
    assert training.validation_share == 0.04
    assert training.images_per_s == 2500
    assert training.software.layout is Layout.CHANNELS_LAST
    assert training.software.era == 2021
    assert training.steps is None


def test_a_recipe_can_be_a_file_or_a_section_and_use_parameters() -> None:
    assert read("batch: 8\nsteps: 100\n") == read("training: {batch: 8, steps: 100}")
    network = read_network(
        read_document(
            "params: {n: 3}\ninputs: {x: [8]}\nlayers: [ReLU]\ntraining: {batch: '${n * 2}'}", "net.yaml"
        )
    )
    assert Training(**network.recipe).batch == 6


def test_what_a_recipe_does_not_say_is_left_to_the_defaults() -> None:
    assert recipe.read_recipe(read_document("batch: 8", "recipe.yaml")) == {"batch": 8}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_every_optimizer_is_known_by_its_name(name: str) -> None:
    assert read(f"optimizer: {name}").optimizer is OPTIMIZERS.get(name)
    assert read(f"optimizer: {{type: {name.upper()}, lr: 0.1}}").optimizer is OPTIMIZERS.get(name)


@pytest.mark.parametrize(
    ("text", "states", "more_passes"),
    [
        # over the plain rule of that type: tensors kept more, element-wise tensors moved more
        ("{type: SGD, momentum: 0}", 0, 0),
        ("{type: SGD, weight_decay: 0.1}", 0, 3),
        ("{type: Adam, weight_decay: 0.1}", 0, 3),
        ("{type: AdamW, weight_decay: 0.1}", 0, 0),
        ("{type: Adam, amsgrad: true, betas: [0.9, 0.99], eps: 1e-8}", 1, 3),
        ("{type: RMSprop, momentum: 0.9}", 1, 5),
    ],
)
def test_arguments_of_an_optimizer_add_what_torch_adds(text: str, states: int, more_passes: int) -> None:
    rule = read(f"optimizer: {text}").optimizer
    plain = OPTIMIZERS.get(rule.name)
    assert rule.states - plain.states == states
    assert sum(rule.steps) - sum(plain.steps) == more_passes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("batch: 0", "recipe.yaml:1:8: batch: must be at least 1, got 0"),
        ("batch: 1.5", "expected a whole number"),
        ("epochs: -1", "epochs: must not be negative"),
        ("epochs: .nan", "epochs: must be a finite number"),
        ("steps: 1.5e0", "steps: expected a whole number"),
        ("batchsize: 3", "unknown key 'batchsize' in 'training'; did you mean 'batch'?"),
        ("epochs: 3\nsteps: 4", "recipe.yaml:2:8: a run is either 'epochs' or 'steps' long"),
        ("precision: fp23", "unknown precision 'fp23'; did you mean 'fp32'?"),
        ("precision: 16", "expected text, got 16"),
        ("optimizer: adm", "did you mean 'adam'?"),
        ("optimizer: {lr: 3}", "'optimizer' needs a 'type'"),
        ("optimizer: {type: adam, momentum: 0.9}", "adam has no 'momentum'"),
        ("optimizer: {type: sgd, centered: true}", "unknown key 'centered'"),
        ("optimizer: [sgd]", "'optimizer' must be a mapping"),
        ("checkpointing: some", "expected one of none, blocks"),
        ("software: {layout: nchw}", "expected one of channels_first, channels_last"),
        ("software: 3", "'software' must be a mapping"),
        ("validation_share: 2", "must be at most 1"),
        ("input_pipeline: {images: 3}", "unknown key 'images'"),
        ("[1]", "'training' must be a mapping"),
        ("batch: $n", "unknown name 'n'"),
        ("training: {batch: 3}\nsteps: 3", "unknown key 'steps' in the recipe"),
    ],
)
def test_a_bad_recipe_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert not isinstance(caught.value, CombinedInputError)
    assert says in str(caught.value)


def test_no_setting_of_the_software_is_forgotten() -> None:
    assert set(recipe.SOFTWARE) == {field.name for field in fields(Software)}


def test_whole_numbers_may_be_written_as_floats() -> None:
    training = read("samples: 1.2e6\nsteps: 1e3\nbatch: 64.0\n")
    assert (training.samples, training.steps, training.batch) == (1_200_000, 1000, 64)
