"""Attention layers against recorded counts, against what PyTorch keeps, and their kernels."""

from __future__ import annotations

from collections import Counter
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
    from estimator.workload.kernel import Kernel

BACKWARD = (Phase.DGRAD, Phase.WGRAD)


def run(
    kind: str,
    *shapes: tuple[int, ...],
    policy: str = "fp32",
    needs_grad: bool = True,
    software: Software | None = None,
    **arguments: Any,  # noqa: ANN401  (torch.nn arguments)
) -> Record:
    setting = Setting(policy=POLICIES.get(policy), software=software or Software())
    signatures = tuple(Signature(shape, DType.FP32, needs_grad) for shape in shapes)
    return record(LAYERS.get(kind)(**arguments), signatures, setting)


def flops(result: Record, *phases: Phase) -> int:
    return sum(kernel.flops for kernel in result.kernels if kernel.phase in phases)


def saved(result: Record) -> int:
    return sum(size for _, size in result.saved)


def parameters(result: Record) -> int:
    return sum(weight.numel for weight in result.weights)


def named(result: Record, name: str) -> list[Kernel]:
    return [kernel for kernel in result.kernels if kernel.name == name]


X = (2, 100, 512)
# arguments, inputs, parameters, forward, backward, saved: recorded from torch.nn.MultiheadAttention, fp32
GOLDEN: dict[str, tuple[Any, ...]] = {
    "self": ({"num_heads": 8}, (X, X, X), 1050624, 460390400, 920780800, 3507200),
    "cross": ({"num_heads": 8}, (X, (2, 60, 512), (2, 60, 512)), 1050624, 360120320, 720240640, 2595840),
    "kdim and vdim": (
        {"num_heads": 8, "kdim": 256, "vdim": 128}, (X, (2, 60, 256), (2, 60, 128)),
        722944, 281477120, 562954240, 2288640),
    "without bias": ({"num_heads": 8, "bias": False}, (X, X, X), 1048576, 460390400, 920780800, 3507200),
    "extended keys": (
        {"num_heads": 8, "add_bias_kv": True, "add_zero_attn": True}, (X, X, X),
        1051648, 461209600, 922419200, 3536384),
    "four heads": ({"num_heads": 4}, ((1, 300, 448),) * 3, 804608, 642969600, 1285939200, 5203200),
    "eight heads": ({"num_heads": 8}, ((1, 300, 448),) * 3, 804608, 642969600, 1285939200, 6643200),
    "without batch": (
        {"num_heads": 4, "batch_first": False}, ((10, 64),) * 3, 16640, 353280, 706560, 19520),
}  # fmt: skip


@pytest.mark.parametrize("style", ["direct", "torch"])
@pytest.mark.parametrize("case", GOLDEN)
def test_counts_and_memory_are_the_recorded_ones(case: str, style: str) -> None:
    arguments, shapes, weights, forward, backward, kept = GOLDEN[case]
    result = run("MultiheadAttention", *shapes, kernel="math", style=style, **arguments)
    assert result.outputs[0].shape == shapes[0]
    assert parameters(result) == weights
    assert flops(result, Phase.FORWARD) == forward
    assert flops(result, *BACKWARD) == backward
    assert saved(result) == kept


@pytest.mark.parametrize(
    ("kind", "shapes", "arguments", "counts"),
    [
        # public reports of counters that were wrong, with the right count
        ("ScaledDotProductAttention", [(1, 12, 64, 64)] * 3, {}, (12582912, 0)),  # pytorch#195460: 0
        ("ScaledDotProductAttention", [(2, 5, 9, 4)] * 3, {}, (12960, 0)),  # pytorch#134804: twice
        ("MultiheadAttention", [(1, 512, 768)], {"num_heads": 12}, (3221225472, 2362368)),  # FastBERT#14
        ("MultiheadAttention", [(1, 300, 448)], {"num_heads": 4}, (642969600, 804608)),  # fvcore#153
    ],
)
@pytest.mark.parametrize("kernel", ["math", "flash"])
def test_what_counters_got_wrong(
    kind: str, shapes: list[tuple[int, ...]], arguments: dict[str, Any], counts: tuple[int, int], kernel: str
) -> None:
    forward, weights = counts
    result = run(kind, *shapes, kernel=kernel, **arguments)
    assert flops(result, Phase.FORWARD) == forward
    assert parameters(result) == weights


def test_inputs_without_gradient_save_their_dgrad() -> None:
    result = run("MultiheadAttention", X, X, X, num_heads=8, kernel="math", needs_grad=False)
    assert flops(result, *BACKWARD) == 606208000


def test_flash_attention_keeps_statistics_and_makes_five_products_backward() -> None:
    result = run("ScaledDotProductAttention", *((1, 8, 128, 64),) * 3)
    assert saved(result) == 786432 + 262144 + 4120
    assert flops(result, Phase.FORWARD) == 2 * (2 * 8 * 128 * 128 * 64)
    assert flops(result, *BACKWARD) == 5 * (2 * 8 * 128 * 128 * 64)
    forward, backward = result.kernels
    assert forward.op is backward.op is Op.ATTENTION
    assert (forward.bytes_read, forward.bytes_written) == (786432, 262144 + 4096)
    assert (backward.bytes_read, backward.bytes_written) == (786432 + 2 * 262144 + 4096, 786432)


def test_the_math_kernel_makes_four_products_backward_and_writes_the_matrix() -> None:
    result = run("ScaledDotProductAttention", *((2, 8, 128, 64),) * 3, kernel="math", dropout=0.1)
    assert flops(result, *BACKWARD) == 2 * flops(result, Phase.FORWARD)
    matrix = 2 * 8 * 128 * 128 * 4
    assert saved(result) == 3 * matrix + 3 * (2 * 8 * 128 * 64 * 4)
    names = Counter(k.name for k in result.kernels if k.phase is Phase.FORWARD)
    assert names == {"scale": 2, "bmm": 2, "softmax": 1, "dropout": 1}


@pytest.mark.parametrize(
    ("arguments", "charged", "share"),
    [
        ({}, 64 * 64, 1.0),
        ({"causal": True}, 64 * 64, 65 / 128),
        ({"causal": True, "window": 16}, 64 * 16, (136 + 48 * 16) / (64 * 16)),
        ({"window": 5}, 64 * 5, (60 * 5 + 2 * (3 + 4)) / (64 * 5)),
        ({"window": 100}, 64 * 64, 1.0),
    ],
)
def test_masks_are_charged_by_convention_and_worked_by_pairs(
    arguments: dict[str, Any], charged: int, share: float
) -> None:
    result = run("ScaledDotProductAttention", *((1, 1, 64, 8),) * 3, **arguments)
    assert result.kernels[0].flops == 4 * charged * 8
    assert result.kernels[0].work_share == pytest.approx(share)
    full = run("ScaledDotProductAttention", *((1, 1, 64, 8),) * 3, kernel="math", **arguments)
    assert flops(full, Phase.FORWARD) == 4 * 64 * 64 * 8  # the math kernel computes what it masks
    assert all(k.work_share == 1.0 for k in full.kernels)


def test_a_mask_that_is_an_input_is_read_by_the_kernel() -> None:
    shapes = [(2, 4, 16, 8)] * 3
    plain = run("ScaledDotProductAttention", *shapes)
    masked = run("ScaledDotProductAttention", *shapes, (1, 1, 16, 16))
    assert masked.kernels[0].bytes_read - plain.kernels[0].bytes_read == 16 * 16 * 4
    in_math = run("ScaledDotProductAttention", *shapes, (1, 1, 16, 16), kernel="math")
    (kernel,) = named(in_math, "add_bias")
    assert kernel.bytes_read == (2 * 4 + 1) * 16 * 16 * 4
    with pytest.raises(LayerError, match="mask"):
        run("ScaledDotProductAttention", *shapes, (3, 1, 16, 16))


def test_shared_heads_shrink_projections_and_not_the_products() -> None:
    full = run("MultiheadAttention", (2, 32, 64), num_heads=8, bias=False)
    shared = run("MultiheadAttention", (2, 32, 64), num_heads=8, num_kv_heads=2, bias=False)
    assert parameters(full) - parameters(shared) == 2 * 64 * 48
    attention = [named(r, "flash_attention")[0] for r in (full, shared)]
    assert attention[0].flops == attention[1].flops
    assert attention[0].bytes_read - attention[1].bytes_read == 2 * (2 * 6 * 32 * 8) * 4
    in_math = run("MultiheadAttention", (2, 32, 64), num_heads=8, num_kv_heads=2, kernel="math")
    assert len(named(in_math, "repeat_heads")) == 2


def test_packed_and_separate_projections_do_the_same_work() -> None:
    packed = run("MultiheadAttention", (2, 32, 64), num_heads=8)
    separate = run("MultiheadAttention", (2, 32, 64), num_heads=8, packed=False)
    assert len(named(packed, "linear")) == 2
    assert len(named(separate, "linear")) == 4
    assert len(named(separate, "accumulate_gradient_")) == 2
    for phases in ((Phase.FORWARD,), BACKWARD):
        assert flops(packed, *phases) == flops(separate, *phases)
    assert parameters(packed) == parameters(separate)


def test_rotary_embedding_is_five_kernels_and_one_where_fused() -> None:
    eager = run("RoPE", (2, 4, 10, 8))
    assert Counter(k.phase for k in eager.kernels) == {Phase.FORWARD: 5, Phase.DGRAD: 7}
    fused = run("RoPE", (2, 4, 10, 8), software=Software(mode=Mode.COMPILED))
    assert Counter(k.phase for k in fused.kernels) == {Phase.FORWARD: 1, Phase.DGRAD: 1}
    assert flops(eager, Phase.FORWARD) == 0
    attention = run("MultiheadAttention", (2, 10, 32), num_heads=4, num_kv_heads=2, rope=True)
    assert len(named(attention, "neg")) == 2


def test_normalised_queries_and_keys_and_position_bias_have_weights() -> None:
    plain = run("MultiheadAttention", (2, 10, 32), num_heads=4)
    normed = run("MultiheadAttention", (2, 10, 32), num_heads=4, qk_norm="rms")
    biased = run("MultiheadAttention", (2, 10, 32), num_heads=4, position_bias="relative", kernel="math")
    constant = run("MultiheadAttention", (2, 10, 32), num_heads=4, position_bias="alibi", kernel="math")
    assert parameters(normed) - parameters(plain) == 2 * 8
    assert parameters(biased) - parameters(plain) == 32 * 4
    assert parameters(constant) == parameters(plain)
    assert named(biased, "relative_bias_backward")
    assert len(named(biased, "add_bias")) == len(named(constant, "add_bias")) == 1


def test_autocast_multiplies_in_half_and_takes_the_softmax_in_full_precision() -> None:
    result = run("MultiheadAttention", (2, 10, 32), num_heads=4, kernel="math", policy="amp")
    assert {k.compute for k in result.kernels if k.flops} == {DType.FP16}
    assert {k.compute for k in result.kernels if k.op is Op.SOFTMAX} == {DType.FP32}
    flash = run("MultiheadAttention", (2, 10, 32), num_heads=4, policy="amp")
    (kernel,) = named(flash, "flash_attention")
    assert kernel.compute is DType.FP16
    assert kernel.bytes_read == 3 * 2 * 10 * 32 * 2


def test_software_chooses_the_kernel_unless_the_layer_does() -> None:
    old = Software(era=2019)
    assert named(run("MultiheadAttention", (2, 10, 32), num_heads=4, software=old), "softmax")
    explicit = run("MultiheadAttention", (2, 10, 32), num_heads=4, software=old, kernel="flash")
    assert named(explicit, "flash_attention")


# window attention: counts recorded per call from torchvision's swin_t, swin_v2_t and swin3d_t
@pytest.mark.parametrize(
    ("shape", "arguments", "weights", "forward", "backward"),
    [
        ((1, 56, 56, 96), {"num_heads": 3, "window_size": 7}, 507 + 37248, 290217984, 580435968),
        ((1, 56, 56, 96), {"num_heads": 3, "window_size": 7, "shift_size": 3}, 507 + 37248, 290217984,
         580435968),
        ((1, 14, 14, 384), {"num_heads": 12, "window_size": 7}, 2028 + 443520 + 147840, 245962752, 491925504),
        ((1, 64, 64, 96), {"num_heads": 3, "window_size": 8, "cosine": True}, 3 + 1536 + 1536 + 37248,
         402653184 + 460800 + 691200, 805306368 + 460800 + 1382400),
        ((1, 8, 56, 56, 96), {"num_heads": 3, "window_size": (8, 7, 7), "shift_size": (4, 3, 3)},
         7605 + 37248, 5626134528, 11252269056),
        ((1, 8, 14, 14, 384), {"num_heads": 12, "window_size": (8, 7, 7)}, 30420 + 591360, 2793799680,
         5587599360),
    ],
)  # fmt: skip
def test_window_attention_counts_are_the_recorded_ones(
    shape: tuple[int, ...], arguments: dict[str, Any], weights: int, forward: int, backward: int
) -> None:
    result = run("WindowAttention", shape, **arguments)
    assert result.outputs[0].shape == shape
    assert parameters(result) == weights
    assert flops(result, Phase.FORWARD) == forward
    assert flops(result, *BACKWARD) == backward


def test_windows_are_padded_and_shifted_where_more_than_one_covers_the_input() -> None:
    padded = run("WindowAttention", (2, 10, 10, 16), num_heads=2, window_size=7, shift_size=3)
    assert padded.outputs[0].shape == (2, 10, 10, 16)
    assert len(named(padded, "roll")) == 4
    assert len(named(padded, "pad")) == len(named(padded, "shift_mask")) == 1
    whole = run("WindowAttention", (2, 7, 7, 16), num_heads=2, window_size=7, shift_size=3)
    assert not named(whole, "roll")
    assert not named(whole, "pad")


@pytest.mark.parametrize(
    ("kind", "shapes", "arguments", "blamed"),
    [
        ("MultiheadAttention", [(2, 10, 30)], {"num_heads": 4}, "num_heads"),
        ("MultiheadAttention", [(2, 10, 32)], {"num_heads": 4, "embed_dim": 64}, "embed_dim"),
        ("MultiheadAttention", [(2, 10, 32)], {"num_heads": 4, "num_kv_heads": 3}, "num_kv_heads"),
        ("MultiheadAttention", [(2, 10, 32), (2, 6, 16)], {"num_heads": 4, "kdim": 8}, "kdim"),
        ("MultiheadAttention", [(2, 10, 32)], {"num_heads": 4, "rope": True, "rope_dim": 16}, "rope_dim"),
        ("MultiheadAttention", [(2, 10, 32), (3, 10, 32)], {"num_heads": 4}, None),
        ("MultiheadAttention", [(2, 3, 10, 32)], {"num_heads": 4}, None),
        ("ScaledDotProductAttention", [(2, 4, 10, 8), (2, 3, 10, 8), (2, 3, 10, 8)], {}, None),
        ("ScaledDotProductAttention", [(2, 4, 10, 8)], {}, None),
        ("WindowAttention", [(2, 7, 7, 10)], {"num_heads": 3, "window_size": 7}, "num_heads"),
        ("WindowAttention", [(2, 49, 12)], {"num_heads": 3, "window_size": 7}, None),
        ("RoPE", [(2, 10, 8)], {"dim": 9}, None),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: str, shapes: list[tuple[int, ...]], arguments: dict[str, Any], blamed: str | None
) -> None:
    with pytest.raises(LayerError) as caught:
        run(kind, *shapes, **arguments)
    assert caught.value.argument == blamed


def hand_written(heads: int, kv_heads: int, dropout: float) -> Any:  # noqa: ANN401  (torch is optional)
    """Attention as language models write it: one projection, heads by views, joined by a transpose."""
    import torch

    class Attention(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
        def __init__(self) -> None:
            super().__init__()
            self.project = torch.nn.Linear(64, (heads + 2 * kv_heads) * 16)
            self.out = torch.nn.Linear(heads * 16, 64)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            n, length, _ = x.shape
            parts = self.project(x).split([heads * 16, kv_heads * 16, kv_heads * 16], dim=2)
            q, k, v = (p.view(n, length, -1, 16).transpose(1, 2) for p in parts)
            y = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout, enable_gqa=heads != kv_heads
            )
            return self.out(y.transpose(1, 2).reshape(n, length, -1))

    return Attention()


@pytest.mark.torch
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("heads", "kv_heads", "dropout"), [(4, 4, 0.0), (4, 4, 0.1), (4, 2, 0.0)])
def test_direct_style_keeps_what_hand_written_attention_keeps(
    batch: int, heads: int, kv_heads: int, dropout: float
) -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(batch, 20, 64, requires_grad=True)
    result = run(
        "MultiheadAttention", (batch, 20, 64), num_heads=heads, num_kv_heads=kv_heads, head_dim=16,
        dropout=dropout, kernel="math",
    )  # fmt: skip
    module = hand_written(heads, kv_heads, dropout)
    assert saved(result) == kept_by_torch(module, x, besides=module.parameters())


@pytest.mark.torch
@pytest.mark.parametrize("inputs", [1, 3])
def test_flops_and_parameters_are_those_pytorch_counts(inputs: int) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    module = torch.nn.MultiheadAttention(64, 4, batch_first=True)
    tensors = [torch.zeros(3, 20, 64, requires_grad=True) for _ in range(inputs)]
    given = tensors * 3 if inputs == 1 else tensors
    with FlopCounterMode(display=False) as counter:
        module(*given)[0].sum().backward()
    result = run("MultiheadAttention", *[(3, 20, 64)] * inputs, num_heads=4, kernel="math")
    assert flops(result, Phase.FORWARD, *BACKWARD) == counter.get_total_flops()
    assert parameters(result) == sum(p.numel() for p in module.parameters())


def test_a_query_of_five_dimensions_is_attended_by_products_of_their_own() -> None:
    """No fused kernel of PyTorch takes it; its math kernel works on halves in fp32 since PyTorch 2.5."""
    shapes = ((2, 3, 4, 64, 8),) * 3
    new, old = (
        run("ScaledDotProductAttention", *shapes, policy="amp", software=Software(era=era))
        for era in (2025, 2024)
    )
    for result in (new, old):
        assert result.outputs[0].shape == shapes[0]
        assert {k.op for k in result.kernels} >= {Op.BMM, Op.SOFTMAX}
    assert {k.compute for k in new.kernels if k.op is Op.BMM} == {DType.FP32}
    assert {k.compute for k in old.kernels if k.op is Op.BMM} == {DType.FP16}
    assert new.outputs[0].dtype is old.outputs[0].dtype is DType.FP16
