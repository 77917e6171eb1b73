"""Networks on disk: found by name and path, and every way a file can be wrong."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path

import pytest

from estimator.catalog.excerpts import describe
from estimator.catalog.networks import find_network, load_network, load_recipe, parse_overrides, zoo
from estimator.catalog.text_files import read_stream, read_text_file
from estimator.catalog.yaml_reader import read_document
from estimator.errors import EXIT_BAD_INPUT, InputError
from estimator.layers.special import Custom
from estimator.networks.language.read import read_network
from estimator.networks.lowering import check

GOOD = "params: {d: 8}\ninputs: {x: [$d]}\nlayers: [{type: Linear, out_features: 2}]\n"


def refusal(name: str) -> str:
    with pytest.raises(InputError) as caught:
        load_network(name)
    assert caught.value.exit_code == EXIT_BAD_INPUT
    return str(caught.value)


def test_a_network_is_found_by_name_whatever_its_spelling() -> None:
    assert find_network("resnet50").file == find_network("ResNet-50").file
    assert load_network("resnet18").name == "resnet18"


@pytest.mark.parametrize("name", list(zoo()))
def test_every_network_of_the_zoo_is_read_and_fits(name: str) -> None:
    network = load_network(name)
    assert network.name == name
    assert network.source
    check(network)


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    assert refusal("resnet51") == "unknown network 'resnet51'; did you mean 'resnet50'?"
    assert "estimator networks list" in refusal("qqqqqqqq")
    assert refusal("  ").startswith("no network is named")
    assert refusal("q" * 5000).startswith("unknown network 'qqq")


def test_a_file_is_read_with_values_set(tmp_path: Path) -> None:
    path = tmp_path / "my.net.yaml"
    path.write_text(GOOD, "utf-8")
    network = load_network(str(path), ["d=16"])
    assert network.name == "my"
    assert network.inputs[0].shape == (16,)


def test_the_users_own_networks_hide_bundled_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "resnet50.yaml").write_text(GOOD, "utf-8")
    monkeypatch.setenv("ESTIMATOR_PROFILES", str(tmp_path))
    assert len(load_network("resnet50").nodes) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ":1:1: the text is empty"),
        (b" \n\n", ":1:1: the text is empty"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", ":1:9: this is not UTF-8 text"),
        (b"\x89PNG\r\n\x1a\n", ":1:1: this is not UTF-8 text; is this a YAML text file?"),
        (b"a: 1\nb: \xff", ":2:4: this is not UTF-8 text"),
        (b"a: \x00\x00", ":1:4: a character no text has (U+0000)"),
        ("a: 1".encode("utf-16"), ":1:1: this is not UTF-8 text"),
        (b"a: '" + b"x" * 2**22 + b"'", ":1:1: the text is larger than 4 MiB"),
        (b"layers: 3", ":1:9: 'layers' must be a list"),
        (b"just some words", ":1:1: the network must be a mapping"),
        (b"- ReLU", ":1:1: the network must be a mapping"),
    ],
)
def test_a_file_with_something_else_in_it_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "net.yaml"
    path.write_bytes(content)
    message = refusal(str(path))
    assert message.startswith(f"{path}{says}")
    assert "\n" not in message


def test_a_path_without_a_file_says_so(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "none.yaml")) == f"there is no file {str(tmp_path / 'none.yaml')!r}"
    assert "is a directory" in refusal(str(tmp_path) + "/")
    (tmp_path / "dir.yaml").mkdir()
    assert "is a directory" in refusal(str(tmp_path / "dir.yaml"))
    assert "cannot be read" in refusal("a\0b.yaml")
    assert "cannot be read: file name too long" in refusal("x" * 5000 + ".yaml")
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    assert "cannot be read" in refusal(str(loop))


def test_a_stream_is_read_no_further_than_a_text_may_be_long() -> None:
    stream = io.BytesIO(b"x" * 2**23)
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_stream(stream, "<stdin>")
    assert stream.tell() <= 2**22 + 1


def test_errors_in_a_file_are_shown_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(
        "inputs: {x: [8]}\nlayers:\n  - {type: Linear, in_features: 9, out_features: 2}\n", "utf-8"
    )
    with pytest.raises(InputError) as caught:
        check(load_network(str(path)))
    assert describe(caught.value) == (
        f"{path}:3:33: Linear.in_features is 9 but the input has 8 features\n"
        "    3 |   - {type: Linear, in_features: 9, out_features: 2}\n"
        "      |                                 ^"
    )


def test_a_recipe_is_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("batch: 12", "utf-8")
    assert load_recipe(str(path)) == {"batch": 12}
    assert read_text_file(path).text == "batch: 12"


def test_values_to_set_are_written_as_in_yaml() -> None:
    texts = ["a=1", "b=1e-3", "c=no", "d=[1, 2]", "e = true", "f=x=y"]
    assert parse_overrides(texts) == {"a": 1, "b": 1e-3, "c": "no", "d": (1, 2), "e": True, "f": "x=y"}


@pytest.mark.parametrize("texts", [["a"], ["=3"], ["a="], ["a={b: 1}"], ["a=1", "a=2"], ["a=010"], ["a=[1"]])
def test_values_to_set_that_cannot_be_read_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_overrides(texts)


def test_whole_numbers_of_parameters_and_arguments_may_be_written_as_floats(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "params: {d: 8}\ninputs: {x: [$d]}\nlayers: [{type: Custom, out_shape: [4], bytes: 1e3}]\n", "utf-8"
    )
    network = load_network(str(path), ["d=1.6e1"])
    assert network.inputs[0].shape == (16,)
    assert network.nodes[0].layer == Custom(out_shape=(4,), bytes=1000)


def test_what_is_no_file_is_named_for_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert refusal("mine") == "'mine' is a directory; name a file in it"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_text, args=(GOOD,))
    writer.start()
    assert len(load_network("pipe").nodes) == 1
    writer.join()


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/dev/fd/63", "network"),
        ("/proc/self/fd/11", "network"),
        ("a/mine.yaml", "mine"),
        ("a\x1bb.yaml", "network"),
    ],
)
def test_a_network_without_a_name_has_that_of_its_file(file: str, name: str) -> None:
    assert read_network(read_document(GOOD, file)).name == name
