"""Transformer layers, gated networks, experts and channel gates against recorded counts and PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Mode, Software
from estimator.workload.kernel import Op, Phase
from tests.layers.layers_shared import kept_by_torch

if TYPE_CHECKING:
    from estimator.layers.tape import Record

BACKWARD = (Phase.DGRAD, Phase.WGRAD)


def run(
    kind: str,
    *shapes: tuple[int, ...],
    needs_grad: bool = True,
    software: Software | None = None,
    **arguments: Any,  # noqa: ANN401  (torch.nn arguments)
) -> Record:
    setting = Setting(policy=POLICIES.get("fp32"), software=software or Software())
    signatures = tuple(Signature(shape, DType.FP32, needs_grad) for shape in shapes)
    return record(LAYERS.get(kind)(**arguments), signatures, setting)


def flops(result: Record, *phases: Phase) -> int:
    return sum(kernel.flops for kernel in result.kernels if kernel.phase in phases)


def saved(result: Record) -> int:
    return sum(size for _, size in result.saved)


def parameters(result: Record) -> int:
    return sum(weight.numel for weight in result.weights)


def count(result: Record, name: str) -> int:
    return sum(kernel.name == name for kernel in result.kernels)


# inputs, parameters, forward, backward, backward without the inputs', saved: recorded from torch.nn, fp32
GOLDEN: dict[str, tuple[Any, ...]] = {
    "TransformerEncoderLayer": (
        ((2, 128, 512),), 3152384, 1677721600, 3355443200, 2952790016, 15732736),
    "Transformer": (
        ((1, 128, 512), (1, 128, 512)), 44140544, 11878268928, 23756537856, 23353884672, 117211136),
}  # fmt: skip


@pytest.mark.parametrize("kind", GOLDEN)
def test_counts_and_memory_are_the_recorded_ones(kind: str) -> None:
    shapes, weights, forward, backward, weights_only, kept = GOLDEN[kind]
    result = run(kind, *shapes, kernel="math")
    assert result.outputs[0].shape == shapes[-1]
    assert parameters(result) == weights
    assert flops(result, Phase.FORWARD) == forward
    assert flops(result, *BACKWARD) == backward
    assert saved(result) == kept
    assert flops(run(kind, *shapes, kernel="math", needs_grad=False), *BACKWARD) == weights_only


def test_an_encoder_layer_of_another_width_counts_its_attention() -> None:
    result = run("TransformerEncoderLayer", (1, 512, 128), nhead=8, dim_feedforward=256, kernel="math")
    assert flops(result, Phase.FORWARD) == 268435456  # a counter that forgets attention is at half of it
    assert parameters(result) == 132480


def test_stacks_are_their_layers() -> None:
    small: dict[str, Any] = {"nhead": 4, "dim_feedforward": 32}
    layer = run("TransformerEncoderLayer", (2, 10, 16), **small)
    stack = run("TransformerEncoder", (2, 10, 16), num_layers=3, norm=True, **small)
    assert parameters(stack) == 3 * parameters(layer) + 32
    assert flops(stack, Phase.FORWARD, *BACKWARD) == 3 * flops(layer, Phase.FORWARD, *BACKWARD)
    assert {w.name for w in stack.weights} >= {"layers.2.self_attn.in_proj_weight", "norm.bias"}
    decoder = run("TransformerDecoder", (2, 10, 16), (2, 7, 16), num_layers=2, **small)
    one = run("TransformerDecoderLayer", (2, 10, 16), (2, 7, 16), **small)
    assert parameters(decoder) == 2 * parameters(one)


def test_a_causal_decoder_masks_its_own_attention_only() -> None:
    arguments: dict[str, Any] = {"nhead": 4, "dim_feedforward": 32, "causal": True, "kernel": "math"}
    assert count(run("TransformerDecoderLayer", (2, 10, 16), (2, 7, 16), **arguments), "add_mask") == 1


@pytest.mark.parametrize(
    ("kind", "shapes", "arguments", "blamed"),
    [
        ("TransformerEncoderLayer", [(2, 10, 16)], {"nhead": 4, "d_model": 32}, "d_model"),
        ("TransformerEncoderLayer", [(2, 10, 16)], {"nhead": 5}, "num_heads"),
        ("TransformerDecoderLayer", [(2, 10, 16)], {"nhead": 4}, None),
        ("Transformer", [(2, 10, 16), (2, 10, 8)], {"nhead": 4}, None),
        ("MoE", [(2, 10, 16)], {"num_experts": 2, "hidden_features": 8, "top_k": 3}, "top_k"),
        ("MoE", [(2, 10, 16)], {"num_experts": 2, "hidden_features": 8, "in_features": 8}, "in_features"),
        ("GatedMLP", [(2, 10, 16)], {"hidden_features": 8, "in_features": 8}, "in_features"),
        ("SqueezeExcitation", [(2, 16, 4, 4)], {}, "squeeze_channels"),
        ("SqueezeExcitation", [(2, 16, 4, 4)], {"reduction": 4, "squeeze_channels": 4}, "squeeze_channels"),
        ("SqueezeExcitation", [(2, 16, 4, 4)], {"reduction": 4, "input_channels": 8}, "input_channels"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: str, shapes: list[tuple[int, ...]], arguments: dict[str, Any], blamed: str | None
) -> None:
    with pytest.raises(LayerError) as caught:
        run(kind, *shapes, **arguments)
    assert caught.value.argument == blamed


def test_gated_networks_have_three_products() -> None:
    separate = run("GatedMLP", (2, 10, 16), hidden_features=40)
    packed = run("GatedMLP", (2, 10, 16), hidden_features=40, packed=True)
    for result in (separate, packed):
        assert parameters(result) == 3 * 16 * 40
        assert flops(result, Phase.FORWARD) == 3 * 2 * 20 * 16 * 40
        assert flops(result, *BACKWARD) == 2 * flops(result, Phase.FORWARD)
    assert (count(separate, "linear"), count(packed, "linear")) == (3, 2)
    # the input once, gate, its activation, up, their product
    assert saved(separate) == 20 * (16 + 4 * 40) * 4


@pytest.mark.parametrize("mode", [Mode.EAGER, Mode.COMPILED])
@pytest.mark.parametrize(("tokens", "experts"), [((2, 8), 8), ((1, 5), 8), ((1, 1), 4)])
def test_experts_work_for_their_share_of_the_tokens(
    mode: Mode, tokens: tuple[int, int], experts: int
) -> None:
    software = Software(mode=mode)
    result = run(
        "MoE", (*tokens, 16), num_experts=experts, hidden_features=32, top_k=2, software=software
    )  # fmt: skip
    count_tokens = tokens[0] * tokens[1]
    assert parameters(result) == experts * (3 * 16 * 32 + 16)
    assert flops(result, Phase.FORWARD) == count_tokens * 2 * (2 * 3 * 16 * 32 + experts * 16)
    assert flops(result, *BACKWARD) == 2 * flops(result, Phase.FORWARD)


def test_eager_experts_run_one_after_the_other_and_grouped_ones_at_once() -> None:
    arguments: dict[str, Any] = {"num_experts": 8, "hidden_features": 32}
    eager = run("MoE", (2, 32, 16), **arguments)
    grouped = run("MoE", (2, 32, 16), software=Software(mode=Mode.FUSED), **arguments)
    assert count(eager, "linear") == 1 + 8 * 3
    assert (count(grouped, "linear"), count(grouped, "grouped_linear")) == (1, 3)
    assert count(eager, "index_add") == 8
    shared = run("MoE", (2, 32, 16), shared_features=64, **arguments)
    assert parameters(shared) - parameters(eager) == 3 * 16 * 64


def test_mixtral_costs_two_of_its_eight_experts_a_token() -> None:
    # per layer and 2,048 tokens of Mixtral 8x7B: the recorded total less attention, over 32 layers
    result = run("MoE", (1, 2048, 4096), num_experts=8, hidden_features=14336)
    recorded, head = 54417235640320, 2 * 2048 * 4096 * 32000
    attention = run(
        "MultiheadAttention", (1, 2048, 4096), num_heads=32, num_kv_heads=8, bias=False, kernel="math"
    )  # fmt: skip
    layer = flops(result, Phase.FORWARD) + flops(attention, Phase.FORWARD)
    assert 32 * layer + head == recorded


def test_squeeze_excitation_weighs_channels_by_their_means() -> None:
    result = run("SqueezeExcitation", (2, 64, 7, 7), squeeze_channels=4)
    assert result.outputs[0].shape == (2, 64, 7, 7)
    assert parameters(result) == 64 * 4 + 4 + 4 * 64 + 64
    assert flops(result, Phase.FORWARD) == 2 * 2 * 2 * 64 * 4
    assert count(result, "mean") == count(result, "mul") == 1
    assert sum(k.op is Op.CONV for k in result.kernels if k.phase is Phase.FORWARD) == 2
    by_ratio = run("SqueezeExcitation", (2, 64, 7, 7), reduction=16, scale_activation="hardsigmoid")
    assert parameters(by_ratio) == parameters(result)


@pytest.mark.torch
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"norm_first": True}, {"dropout": 0.0, "activation": "gelu"}, {"bias": False, "batch_first": False}],
)
@pytest.mark.parametrize("kind", ["TransformerEncoderLayer", "TransformerDecoderLayer"])
def test_layers_keep_and_weigh_what_pytorchs_do(kind: str, batch: int, arguments: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    arguments = {"nhead": 4, "dim_feedforward": 48, "batch_first": True, **arguments}
    module = getattr(torch.nn, kind)(32, **arguments)
    inputs = [torch.zeros(batch, 20, 32, requires_grad=True), torch.zeros(batch, 20, 32, requires_grad=True)]
    inputs = inputs[: 2 if "Decoder" in kind else 1]
    result = run(kind, *[tuple(x.shape) for x in inputs], kernel="math", **arguments)
    assert parameters(result) == sum(p.numel() for p in module.parameters())
    assert saved(result) == kept_by_torch(module, *inputs, besides=module.parameters())


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"])
def test_flops_are_those_pytorch_counts(kind: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    arguments: dict[str, Any] = {"nhead": 4, "dim_feedforward": 48, "batch_first": True}
    module = getattr(torch.nn, kind)(d_model=32, **arguments)
    inputs = [torch.zeros(2, 20, 32, requires_grad=True), torch.zeros(2, 12, 32, requires_grad=True)]
    inputs = inputs[: 1 if "Encoder" in kind else 2]
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        module(*inputs).sum().backward()
    result = run(kind, *[tuple(x.shape) for x in inputs], kernel="math", **arguments)
    assert flops(result, Phase.FORWARD, *BACKWARD) == counter.get_total_flops()
