"""Recurrent layers against recorded counts, against PyTorch, and in their fused and un-fused forms."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Software
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Record


def run(
    kind: str,
    *shapes: tuple[int, ...],
    policy: str = "fp32",
    needs_grad: tuple[bool, ...] | bool = True,
    **arguments: Any,  # noqa: ANN401  (torch.nn arguments)
) -> Record:
    grads = (needs_grad,) * len(shapes) if isinstance(needs_grad, bool) else needs_grad
    setting = Setting(policy=POLICIES.get(policy), software=Software())
    signatures = tuple(Signature(shape, DType.FP32, grad) for shape, grad in zip(shapes, grads, strict=True))
    return record(LAYERS.get(kind)(**arguments), signatures, setting)


def flops(result: Record, *phases: Phase) -> int:
    return sum(kernel.flops for kernel in result.kernels if kernel.phase in phases)


def saved(result: Record) -> int:
    return sum(size for _, size in result.saved)


# type, arguments, input, output, parameters, forward, backward, backward without the input's, saved:
# recorded from PyTorch's native cells, fp32
GOLDEN: dict[str, tuple[Any, ...]] = {
    "lstm": ("LSTM", {"hidden_size": 20, "batch_first": False}, (5, 3, 10), (5, 3, 20),
             2560, 72000, 134400, 110400, 9000),
    "lstm three layers": ("LSTM", {"hidden_size": 64, "num_layers": 3}, (2, 100, 64), (2, 100, 64),
                          99840, 39321600, 78446592, 71892992, 1228800),
    "lstm batch of one": ("LSTM", {"hidden_size": 64}, (1, 100, 64), (1, 100, 64),
                          33280, 6553600, 13074432, 9797632, 204800),
    "lstm without bias": ("LSTM", {"hidden_size": 20, "bias": False, "batch_first": False}, (5, 3, 10),
                          (5, 3, 20), 2400, 72000, 134400, 110400, 9000),
    "lstm projected": (
        "LSTM", {"hidden_size": 200, "num_layers": 2, "proj_size": 64, "bidirectional": True},
        (2, 50, 100), (2, 50, 128), 627200, 124160000, 247500800, 215500800, 2433600),
    "lstm without batch": ("LSTM", {"hidden_size": 20}, (5, 10), (5, 20), 2560, 24000, 44800, 36800, 3000),
    "lstm wide": ("LSTM", {"hidden_size": 512, "num_layers": 2}, (1, 100, 300), (1, 100, 512),
                  3768320, 752025600, 1499856896, 1376976896, 3192000),
    "gru": ("GRU", {"hidden_size": 20, "batch_first": False}, (5, 3, 10), (5, 3, 20),
            1920, 54000, 100800, 82800, 9000),
    "gru both ways": (
        "GRU", {"hidden_size": 20, "num_layers": 2, "bidirectional": True, "batch_first": False},
        (5, 3, 10), (5, 3, 40), 11280, 324000, 619200, 583200, 36600),
    "gru batch of one": ("GRU", {"hidden_size": 64}, (1, 100, 64), (1, 100, 64),
                         24960, 4915200, 9805824, 7348224, 204800),
    "rnn": ("RNN", {"hidden_size": 20, "batch_first": False}, (5, 3, 10), (5, 3, 20),
            640, 18000, 33600, 27600, 2040),
    "rnn both ways": (
        "RNN", {"hidden_size": 20, "num_layers": 2, "bidirectional": True, "batch_first": False},
        (5, 3, 10), (5, 3, 40), 3760, 108000, 206400, 194400, 8760),
    "lstm cell": ("LSTMCell", {"hidden_size": 20}, (3, 10), (3, 20), 2560, 14400, 19200, 14400, 1560),
    "gru cell": ("GRUCell", {"hidden_size": 20}, (3, 10), (3, 20), 1920, 10800, 14400, 10800, 1800),
    "rnn cell": ("RNNCell", {"hidden_size": 20}, (3, 10), (3, 20), 640, 3600, 4800, 3600, 600),
}  # fmt: skip


@pytest.mark.parametrize("case", GOLDEN)
@pytest.mark.parametrize("fused", [True, False])
def test_counts_and_memory_are_the_recorded_ones(case: str, fused: bool) -> None:  # noqa: FBT001  (parameter)
    kind, arguments, shape, out, parameters, forward, backward, weights_only, kept = GOLDEN[case]
    if not kind.endswith("Cell"):
        arguments = {**arguments, "fused": fused}
    result = run(kind, shape, **arguments)
    assert result.outputs[0].shape == out
    assert sum(w.numel for w in result.weights) == parameters
    assert flops(result, Phase.FORWARD) == forward
    assert flops(result, Phase.DGRAD, Phase.WGRAD) == backward
    assert saved(result) == kept
    frozen_input = run(kind, shape, needs_grad=False, **arguments)
    assert flops(frozen_input, Phase.DGRAD, Phase.WGRAD) == weights_only


def test_an_lstm_is_counted_where_a_library_call_hides_it() -> None:
    result = run("LSTM", (1, 250, 12), hidden_size=128)  # torchtnt#624: 0, as oneDNN runs it in one call
    assert flops(result, Phase.FORWARD) == 35840000
    assert sum(w.numel for w in result.weights) == 72704


def test_outputs_are_sequence_hidden_and_cell_state() -> None:
    result = run("LSTM", (2, 7, 8), hidden_size=6, proj_size=4, num_layers=2, bidirectional=True)
    assert [t.shape for t in result.outputs] == [(2, 7, 8), (4, 2, 4), (4, 2, 6)]
    result = run("GRU", (7, 8), hidden_size=6)
    assert [t.shape for t in result.outputs] == [(7, 6), (1, 6)]
    result = run("LSTMCell", (8,), hidden_size=6)
    assert [t.shape for t in result.outputs] == [(6,), (6,)]


def test_an_initial_state_with_a_gradient_costs_its_dgrad() -> None:
    without = run("GRU", (2, 5, 8), hidden_size=6)
    given = run("GRU", (2, 5, 8), (1, 2, 6), hidden_size=6)
    constant = run("GRU", (2, 5, 8), (1, 2, 6), needs_grad=(True, False), hidden_size=6)
    one_step = 2 * 2 * 18 * 6
    backward = (Phase.DGRAD, Phase.WGRAD)
    assert flops(given, *backward) - flops(without, *backward) == one_step
    assert flops(constant, *backward) == flops(without, *backward)
    assert saved(given) == saved(without)


def test_fused_layers_launch_one_recurrent_kernel_a_layer_and_direction() -> None:
    result = run("LSTM", (4, 35, 16), hidden_size=32, num_layers=2, bidirectional=True)
    steps = [k for k in result.kernels if k.op is Op.RECURRENT]
    assert Counter(k.phase for k in steps) == {Phase.FORWARD: 4, Phase.DGRAD: 4}
    assert {k.serial_steps for k in steps} == {35}
    assert all(k.weight_bytes == 35 * 128 * 32 * 4 for k in steps)


def test_unfused_layers_launch_each_step() -> None:
    result = run("GRU", (4, 35, 16), hidden_size=32, fused=False)
    names = Counter(k.name for k in result.kernels)
    assert names["gru_cell"] == names["recurrent_linear"] == names["recurrent_wgrad"] == 35
    assert names["recurrent_dgrad"] == 34
    assert names["linear"] == 1


def test_batch_first_copies_to_time_first_and_gives_a_view() -> None:
    batch_first = run("LSTM", (4, 35, 16), hidden_size=32)
    time_first = run("LSTM", (35, 4, 16), hidden_size=32, batch_first=False)
    extra = Counter(k.name for k in batch_first.kernels) - Counter(k.name for k in time_first.kernels)
    assert set(extra) == {"contiguous", "contiguous_backward"}
    assert batch_first.outputs[0].shape == (4, 35, 32)
    assert batch_first.outputs[0].strides == (32, 4 * 32, 1)
    assert saved(batch_first) == saved(time_first)


def test_autocast_multiplies_in_low_precision() -> None:
    result = run("LSTM", (4, 35, 16), policy="amp", hidden_size=32)
    products = [k for k in result.kernels if k.flops]
    assert {k.compute for k in products} == {DType.FP16}
    assert result.outputs[0].dtype is DType.FP16
    assert sum(k.name == "cast" for k in result.kernels) > 0


@pytest.mark.parametrize(
    ("kind", "shapes", "arguments", "blamed"),
    [
        ("LSTM", [(2, 5, 8)], {"hidden_size": 6, "proj_size": 6}, "proj_size"),
        ("LSTM", [(2, 5, 8)], {"hidden_size": 6, "input_size": 9}, "input_size"),
        ("LSTM", [(2, 5, 8), (1, 2, 6)], {"hidden_size": 6}, None),
        ("GRU", [(2, 5, 8), (1, 2, 7)], {"hidden_size": 6}, None),
        ("GRU", [(2, 5, 8, 3)], {"hidden_size": 6}, None),
        ("GRUCell", [(2, 8), (3, 6)], {"hidden_size": 6}, None),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: str, shapes: list[tuple[int, ...]], arguments: dict[str, Any], blamed: str | None
) -> None:
    with pytest.raises(LayerError) as caught:
        run(kind, *shapes, **arguments)
    assert caught.value.argument == blamed


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"hidden_size": 12, "num_layers": 2, "bidirectional": True},
        {"hidden_size": 12, "bias": False, "batch_first": False},
        {"hidden_size": 9, "num_layers": 3},
    ],
)
def test_shapes_and_parameters_are_pytorchs(kind: str, arguments: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    arguments = {"batch_first": True, **arguments}
    module = getattr(torch.nn, kind)(input_size=5, **arguments)
    y, state = module(torch.zeros(3, 4, 5))
    states = state if isinstance(state, tuple) else (state,)
    result = run(kind, (3, 4, 5), **arguments)
    assert [t.shape for t in result.outputs] == [tuple(t.shape) for t in (y, *states)]
    assert {w.name: w.shape for w in result.weights} == {
        name: tuple(p.shape) for name, p in module.named_parameters()
    }


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["RNN", "GRU"])  # PyTorch counts no LSTM on a CPU
def test_forward_flops_are_those_pytorch_counts(kind: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    module = getattr(torch.nn, kind)(5, 12, num_layers=2, bidirectional=True)
    with FlopCounterMode(display=False) as counter:
        module(torch.zeros(7, 3, 5))
    result = run(kind, (7, 3, 5), hidden_size=12, num_layers=2, bidirectional=True, batch_first=False)
    assert flops(result, Phase.FORWARD) == counter.get_total_flops()
    assert prod(result.outputs[0].shape) == 7 * 3 * 24
