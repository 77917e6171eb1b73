"""Every bad file is refused, in the right place, with a message that helps; none crashes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from estimator.catalog.yaml_reader import read_document
from estimator.errors import EXIT_BAD_INPUT, CombinedInputError, InputError
from estimator.networks.language.read import read_network
from estimator.networks.lowering import check

AT_ONCE_S = 0.2
CASES = yaml.safe_load((Path(__file__).parent.parent / "golden" / "bad_inputs.yaml").read_text("utf-8"))


def text_of(case: dict[str, Any]) -> str:
    if "grown" in case:
        before, unit, times, after = case["grown"]
        return str(before) + str(unit) * int(times) + str(after)
    return str(case["text"])


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        check(read_network(read_document(text, "net.yaml")))
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_bad_file_is_refused_where_it_is_bad(case: dict[str, Any]) -> None:
    error = refusal(text_of(case))
    assert error.exit_code == EXIT_BAD_INPUT
    assert not isinstance(error, CombinedInputError), "one mistake, one message"
    assert str(error).startswith(f"net.yaml:{case['place']}: ")
    assert case["says"] in str(error)


def test_there_are_thirty_six_of_them() -> None:
    assert len(CASES) == len({case["case"] for case in CASES}) == 36


def test_a_duplicate_key_and_the_like_are_told_all_at_once() -> None:
    error = refusal("inputs: {x: [3, 3], x: [4]}\nlayers:\n  - {type: !mine ReLU}\n  - *nothing\n")
    assert isinstance(error, CombinedInputError)
    assert [one.at.line for one in error.errors if one.at] == [1, 3, 4]


def test_all_structural_errors_of_a_network_are_told_at_once() -> None:
    error = refusal(
        """\
nme: x
inputs: {x: {shape: [3, 32, -1], dtyp: float32}}
layers:
  - {type: Conv2D, out_channels: 8, kernel_size: 3, name: a}
  - {type: Conv2d, out_channels: eight, kernel_size: [3, x]}
  - {type: ReLU, from: b}
  - {type: Linear, out_features: "${4 *}"}
  - {type: Residual, layer: [ReLU]}
  - {type: ReLU, from: a}
"""
    )
    assert isinstance(error, CombinedInputError)
    assert str(error).splitlines() == [
        "net.yaml:1:1: unknown key 'nme' in the network; did you mean 'name'?",
        "net.yaml:2:21: shape: must be at least 1, got -1",
        "net.yaml:2:34: unknown key 'dtyp' in input 'x'; did you mean 'dtype'?",
        "net.yaml:4:12: unknown layer type 'Conv2D'; did you mean 'Conv2d'?",
        "net.yaml:5:34: Conv2d.out_channels: expected a whole number, got 'eight'",
        "net.yaml:5:54: Conv2d.kernel_size: expected a whole number, got 'x'",
        "net.yaml:6:24: 'b' is not defined before this layer",
        "net.yaml:7:34: '4 *' ends too early",
        "net.yaml:8:22: Residual has no argument 'layer'; did you mean 'layers'?",
    ]


def test_every_shape_error_is_told_and_what_follows_from_it_is_not() -> None:
    error = refusal(
        """\
inputs: {x: [3, 32, 32]}
layers:
  - {type: Conv2d, in_channels: 4, out_channels: 8, kernel_size: 3}
  - {type: Conv2d, in_channels: 9, out_channels: 8, kernel_size: 3}
  - {type: Conv2d, in_channels: 5, out_channels: 8, kernel_size: 3, from: x}
"""
    )
    assert isinstance(error, CombinedInputError)
    assert [str(one.at) for one in error.errors] == ["net.yaml:3:33", "net.yaml:5:33"]


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e300", "-1"])
def test_numbers_that_are_no_quantity_are_refused(value: str) -> None:
    error = refusal(f"inputs: {{x: [8]}}\nlayers:\n  - {{type: BatchNorm1d, eps: {value}}}\n")
    assert str(error).startswith("net.yaml:3:30: BatchNorm1d.eps: ")


@pytest.mark.parametrize(
    "value", ["0", "-3", "2147483648", "999999999999999999", ".nan", "null", "[]", "[4, 4]"]
)
def test_sizes_that_cannot_be_are_refused(value: str) -> None:
    error = refusal(f"inputs: {{x: [8]}}\nlayers:\n  - {{type: Linear, out_features: {value}}}\n")
    assert str(error).startswith("net.yaml:3:34: Linear.out_features: ")


def test_a_network_too_large_to_be_meant_is_refused() -> None:
    error = refusal(
        "inputs: {x: [2000000000, 2000000000]}\nlayers: [{type: Linear, out_features: 2000000000}]\n"
    )
    assert "too large to be meant" in str(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("layers: []", "at least one layer"),
        ("layers: ReLU", "at least one layer"),
        ("layers: [[ReLU]]", "got a list"),
        ("layers: [3]", "got 3"),
        ("layers: [null]", "got None"),
        ("layers: [{kernel_size: 3}]", "every layer has a 'type'"),
        ("layers: [{Conv2d: 3}]", "write {type: Conv2d, ...}"),
        ("layers: [{type: nn.ReLU}]", "write 'ReLU'"),
        ("layers: [{type: [ReLU]}]", "name of a layer type"),
        ("layers: [{type: ReLU, from: -1}]", "the output above is prev"),
        ("layers: [{type: ReLU, from: []}]", "'from' is empty"),
        ("layers: [{type: ReLU, name: 'a b'}]", "cannot be a name"),
        ("layers: [{type: ReLU, name: prev}]", "cannot be a name"),
        ("layers: [{type: ReLU, name: 3}]", "cannot be a name"),
        ("layers: [{type: ReLU, repeat: -1}]", "from 0 to 10,000"),
        ("layers: [{type: ReLU, repeat: 1.5}]", "from 0 to 10,000"),
        ("layers: [{type: ReLU, repeat: $n}]", "unknown name 'n'"),
        ("layers: [{type: ReLU, repeat: 2, var: 'a b'}]", "'var' must be a name"),
        ("layers: [{type: ReLU, trainable: maybe}]", "expected true or false"),
        ("layers: [{type: ReLU, from: 'x.1'}]", "no output 1"),
        ("layers: [{type: ReLU, from: in}]", "'in' is the input of a block"),
        ("layers: [{type: Residual, layers: [ReLU], op: sub}]", "must be one of Add, Mul, Concat"),
        ("layers: [{type: Parallel}]", "either 'branches' or 'layers'"),
        ("layers: [{type: Parallel, branches: [ReLU], merge: Ad}]", "did you mean 'Add'?"),
        ("layers: [{type: Parallel, layers: [ReLU]}]", "needs 'repeat'"),
        ("layers: [{reuse: a}]", "'a' is not defined"),
        (
            "layers: [{type: Linear, out_features: 2, name: a}, {reuse: a, bias: false}]",
            "arguments of the first",
        ),
        ("layers: [{type: Linear, out_features: 8, name: a}, {type: ReLU, tie: a}]", "the weight is missing"),
        (
            "layers: [{type: Linear, out_features: 8, name: a}, {type: Linear, out_features: 3}, {reuse: a}]",
            "reuse",
        ),
        (
            "layers: [{type: Linear, out_features: '${d / 2}'}]\nparams: {d: 8}",
            "for a whole quotient write //",
        ),
        ("layers: [{type: Linear, out_features: '$d.x'}]\nparams: {d: 8}", "write $name or ${expression}"),
        ("layers: [ReLU]\nparams: {if: 3}", "cannot be a parameter"),
        ("layers: [ReLU]\nparams: {d: }", "has no value"),
        ("layers: [ReLU]\nparams: [1]", "must be a mapping"),
        ("layers: [ReLU]\nblocks: {ReLU: {layers: [ReLU]}}", "the name of a layer type"),
        ("layers: [ReLU]\nblocks: {b: {layer: [ReLU]}}", "did you mean 'layers'?"),
        ("layers: [ReLU]\nblocks: {b: 3}", "must be a mapping"),
        ("layers: [ReLU]\nformat: 2", "this version reads format: 1"),
        ("layers: [ReLU]\nloss: CrossEntropy", "did you mean 'CrossEntropyLoss'?"),
        ("layers: [ReLU]\noutputs: y", "'y' is not defined"),
    ],
)
def test_mistakes_are_told_with_what_to_do(text: str, says: str) -> None:
    assert says in str(refusal(f"inputs: {{x: [8]}}\n{text}\n"))


def test_a_layer_without_input_says_where_it_could_come_from() -> None:
    assert "the network has no 'inputs'" in str(refusal("layers: [ReLU]"))
    assert "say which with 'from'" in str(refusal("inputs: {a: [3], b: [3]}\nlayers: [ReLU]"))


@pytest.mark.parametrize(
    "text",
    [
        "layers: [{repeat: 10000, layers: [{repeat: 10000, layers: [{repeat: 10000, layers: []}]}]}]",
        "layers: [{repeat: 10000, layers: [{repeat: 10000, layers: [ReLU]}]}]",
        "blocks:\n  b0: {layers: [ReLU, ReLU]}\n"
        + "".join(f"  b{n}: {{layers: [{', '.join([f'b{n - 1}'] * 9)}]}}\n" for n in range(1, 40))
        + "layers: [b39]",
        "params: {w: [" + "1, " * 999 + "1]}\nlayers: [{repeat: 10000, layers: [{type: Linear, out_features: "
        "'${" + "max(w) + " * 20 + "1}'}]}]",
    ],
)
def test_small_files_that_stand_for_endless_networks_are_stopped(text: str) -> None:
    error = refusal(f"inputs: {{x: [8]}}\n{text}\n")
    assert any(says in str(error) for says in ("too many repetitions", "200,000 layers", "nest deeper"))


@pytest.mark.parametrize("key", ["name", "family", "source"])
def test_texts_that_screens_print_hold_no_control_characters(key: str) -> None:
    error = refusal(f'{key}: "a\\e[31mRED\\nb"\ninputs: {{x: [8]}}\nlayers: [ReLU]\n')
    assert str(error).startswith(f"net.yaml:1:{len(key) + 3}: {key!r} has the character '\\x1b'")


def test_shapes_in_messages_say_batch_not_the_one_tried_with() -> None:
    conv = "layers: [{type: Conv2d, out_channels: 8, kernel_size: 40}]"
    assert "does not fit input [batch, 3, 32, 32]" in str(refusal(f"inputs: {{x: [3, 32, 32]}}\n{conv}"))
    error = refusal(f"inputs: {{x: [1, 3, 64, 64]}}\n{conv}")
    assert "got [batch, 1, 3, 64, 64]" in str(error)
    assert error.hint == "shapes are written without the batch: leave the 1 out if it is one"


def test_no_batch_is_suspected_where_leaving_it_out_does_not_help() -> None:
    text = "inputs: {x: [5, 4, 3, 32, 32]}\nlayers: [{type: Conv2d, out_channels: 8, kernel_size: 3}]"
    assert refusal(text).hint is None


def test_repeats_within_repeats_are_multiplied_before_they_are_expanded() -> None:
    started = time.process_time()
    refusal("inputs: {x: [8]}\nlayers: [{repeat: 10000, layers: [{repeat: 10000, layers: [ReLU]}]}]")
    assert time.process_time() - started < AT_ONCE_S
