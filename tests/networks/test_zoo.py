"""What holds for every network of the zoo: it says where it is from, and lowers.

How fast it lowers is measured by tests/bench/zoo.py: a time is no property of a busy machine.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

import estimator
from estimator.app.networks import count_network, list_networks
from estimator.catalog.network_counts import digests, recorded_counts
from estimator.catalog.networks import load_network, zoo
from estimator.networks.lowering import lower
from estimator.networks.training import Training

FOLDER = Path(estimator.__file__).parent.parent / "profiles" / "networks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
LONGEST = {"resnet50": 45, "gpt2": 36, "llama": 32, "llama3_8b": 8}


def test_the_zoo_is_large() -> None:
    assert len(NAMES) >= 100
    assert set(NAMES) <= set(zoo())


@pytest.mark.parametrize("name", NAMES)
def test_a_network_is_named_as_its_file_and_lowers(name: str) -> None:
    network = load_network(name)
    assert network.name == name
    assert network.family
    assert network.source
    assert network.inputs
    inference = lower(network, Training(batch=1, training=False))
    trained = lower(network, Training(batch=2))
    assert inference.parameters > 0
    assert trained.backward_flops > 0
    assert not inference.custom_layers
    assert network.recipe.get("batch")
    assert network.recipe.get("optimizer")


def test_the_record_of_counts_is_what_is_counted() -> None:
    """``make counts`` makes it again after a change of the zoo."""
    recorded, current = recorded_counts(), digests()
    stale = [name for name in NAMES if recorded.get(name, {}).get("digest") != current[name]]
    assert not stale, f"make counts: {stale}"
    for name in NAMES[::7]:  # all of them take seconds
        row = dict(recorded[name])
        row.pop("digest")
        assert row == asdict(count_network(name))


def test_what_changed_is_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "lenet5.yaml").write_text("base: mlp_mnist\n", "utf-8")
    monkeypatch.setenv("ESTIMATOR_PROFILES", str(tmp_path))
    (row,) = [row for row in list_networks().networks if row.name == "lenet5"]
    assert row.parameters == 669706


@pytest.mark.parametrize(("name", "lines"), LONGEST.items())
def test_a_network_is_short(name: str, lines: int) -> None:
    assert len((FOLDER / f"{name}.yaml").read_text("utf-8").splitlines()) <= lines


# Parameters as the publications or their code state them.
PUBLISHED = {
    "gpt2_medium": 354823168,
    "gpt2_xl": 1557611200,
    "bloom_176b": 176247271424,
    "llama2_13b": 13015864320,
    "llama3_70b": 70553706496,
    "llama3_405b": 405853388800,
    "qwen2_7b": 7615616512,
    "mixtral_8x22b": 140630071296,
    "phi_2": 2779683840,
    "gpt_neox_20b": 20554567680,
    "deepseek_v3": 671026404352,
    "albert_base": 11683584,
    "bart_large": 406291456,
    "t5_large": 737668096,
    "opt_1_3b": 1315758080,
    "retinanet_resnet50_fpn": 34014999 + 53120,  # batch norms are trained here, constants there
    "vgg13": 133047848,
    "vgg19": 143667240,
    "efficientnet_b7": 66347960,
    "efficientnet_v2_l": 118515272,
    "convnext_tiny": 28589128,
    "regnet_y_32gf": 145046770,
    "swin_v2_s": 49737442,
    "mobilenet_v1": 4231976,
    "resnet9_cifar": 6573120,
    "tacotron2": 28193153,
    "gnmt": 160671297,
    "neumf": 31832577,
    "jasper_10x5": 332632349,
    "quartznet_15x5": 18924381,
    "wav2vec2_base": 94395552 - 128,  # weight norm keeps the 128 lengths apart
    "quasi_lstm": 55881216,
    "stable_diffusion_v2_unet": 865910724,
    "flux_schnell": 11891178560,
    "cyclegan": 2 * (11378179 + 2764737),
    "keras_vgg_like": 280218,
    "keras_imdb_lstm": 2691713 + 512,  # Keras has one bias where torch.nn has two
    "keras_mnist_siamese": 133504,
}  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_parameters_are_the_published_ones(name: str, parameters: int) -> None:
    assert lower(load_network(name), Training(batch=1)).parameters == parameters
