"""``base:``: a network that says how it differs from one of the zoo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.networks import load_network
from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a profiles folder that has a network to build on."""
    folder = tmp_path / "networks"
    folder.mkdir()
    (folder / "plain.yaml").write_text(
        "name: plain\nfamily: f\nsource: s\nparams: {d: 8, e: '${2 * d}'}\ninputs: {x: [4]}\n"
        "layers: [{type: Linear, out_features: $d}, {type: Linear, out_features: $e}]\n"
        "training: {batch: 3, epochs: 2, samples: 9}\n",
        "utf-8",
    )
    monkeypatch.setenv("ESTIMATOR_PROFILES", str(tmp_path))
    return folder


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_network(str(path))
    return str(caught.value)


def test_what_is_not_said_is_the_bases(write: Path) -> None:
    path = write / "wide.yaml"
    path.write_text("base: plain\nparams: {d: 16}\ntraining: {batch: 5}\n", "utf-8")
    network = load_network("wide")
    assert (network.name, network.family, network.source) == ("wide", "f", "s")
    assert network.parameters == {"d": 16, "e": 32}
    assert len(network.nodes) == 2
    assert network.recipe == {"batch": 5}
    assert load_network("wide", ["d=3"]).parameters == {"d": 3, "e": 6}


def test_sections_are_replaced(write: Path) -> None:
    path = write / "other.yaml"
    path.write_text(
        "base: plain\nparams: {f: 2}\nlayers: [{type: Linear, out_features: '${d * f}'}]\n", "utf-8"
    )
    assert len(load_network("other").nodes) == 1


def test_a_base_may_have_a_base(write: Path) -> None:
    (write / "one.yaml").write_text("base: plain\nparams: {d: 16}\n", "utf-8")
    (write / "two.yaml").write_text("base: one\nparams: {e: 5}\n", "utf-8")
    assert load_network("two").parameters == {"d": 16, "e": 5}
    (write / "round.yaml").write_text("base: round\n", "utf-8")
    with pytest.raises(InputError, match="more than 4 networks build on each other"):
        load_network("round")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base: plane", ":1:7: unknown network 'plane'; did you mean 'plain'?"),
        ("base: 3", ":1:7: 'base' must be the name"),
        ("base: [plain]", ":1:7: 'base' must be the name"),
        ("base: ../plain.yaml", ":1:7: unknown network"),
        ("base: plain\nparams: {dd: 3}", ":2:10: plain has no parameter 'dd'; did you mean 'd'?"),
        ("base: words", ":1:7: 'words' is no network"),
        ("base: plain\nlayer: []", ":2:1: unknown key 'layer'"),
    ],
)
def test_what_cannot_be_a_base_is_refused_in_place(write: Path, text: str, says: str) -> None:
    (write / "words.yaml").write_text("just words", "utf-8")
    path = write / "net.yaml"
    path.write_text(text, "utf-8")
    assert refusal(path).startswith(f"{path}{says}")
