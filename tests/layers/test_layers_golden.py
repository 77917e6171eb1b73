"""Single layers against recorded counts: parameters, FLOPs both ways, kept memory, known counters' bugs."""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import AttentionKernel, Software
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.layers.base import Layer
    from estimator.layers.tape import Record

GOLDEN = Path(__file__).parent.parent / "golden"

CONV = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")
CONV_TRANSPOSE = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding", "groups", "bias",
    "dilation",
)  # fmt: skip
POOL = ("kernel_size", "stride", "padding")
RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
TRANSFORMER_LAYER = ("d_model", "nhead", "dim_feedforward", "dropout")

# The order of torch.nn's positional arguments.
POSITIONAL: dict[str, tuple[str, ...]] = {
    **{f"Conv{d}d": CONV for d in (1, 2, 3)},
    **{f"ConvTranspose{d}d": CONV_TRANSPOSE for d in (1, 2, 3)},
    **{f"MaxPool{d}d": POOL for d in (1, 2, 3)},
    **{f"AvgPool{d}d": POOL for d in (1, 2, 3)},
    **{f"Adaptive{kind}Pool{d}d": ("output_size",) for kind in ("Avg", "Max") for d in (1, 2, 3)},
    **{f"LPPool{d}d": ("norm_type", "kernel_size", "stride") for d in (1, 2, 3)},
    **{f"InstanceNorm{d}d": ("num_features",) for d in (1, 2, 3)},
    **{f"BatchNorm{d}d": ("num_features",) for d in (1, 2, 3)},
    **dict.fromkeys(("LSTM", "GRU", "RNN"), RECURRENT),
    **{f"{kind}Cell": ("input_size", "hidden_size") for kind in ("LSTM", "GRU", "RNN")},
    "Linear": ("in_features", "out_features"),
    "Bilinear": ("in1_features", "in2_features", "out_features"),
    "Upsample": ("size",),
    "PixelShuffle": ("upscale_factor",),
    "PixelUnshuffle": ("downscale_factor",),
    "ChannelShuffle": ("groups",),
    "Unfold": ("kernel_size",),
    "Fold": ("output_size", "kernel_size"),
    "Flatten": ("start_dim", "end_dim"),
    "Unflatten": ("dim", "unflattened_size"),
    "ReflectionPad2d": ("padding",),
    "LayerNorm": ("normalized_shape",),
    "RMSNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    "LocalResponseNorm": ("size",),
    "PReLU": ("num_parameters",),
    "Dropout": ("p",),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "EmbeddingBag": ("num_embeddings", "embedding_dim"),
    "MultiheadAttention": ("embed_dim", "num_heads"),
    "TransformerEncoderLayer": TRANSFORMER_LAYER,
    "Transformer": ("d_model", "nhead", "num_encoder_layers", "num_decoder_layers", "dim_feedforward"),
}  # fmt: skip

# Calls of torch functions and operators, as layers.
FUNCTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "x + y": ("Add", {}),
    "x * y": ("Mul", {}),
    "x * s[..,1,1]": ("Mul", {}),
    "x @ y": ("MatMul", {}),
    "cat([x,y],1)": ("Concat", {"dim": 1}),
    "F.scaled_dot_product_attention (flash kernel)": ("ScaledDotProductAttention", {"kernel": "flash"}),
    "F.cross_entropy(x[4096,32000])": ("CrossEntropyLoss", {}),
}

_TORCH_DEFAULTS = {name: {"batch_first": False} for name in (*("LSTM", "GRU", "RNN"), "MultiheadAttention")}


def layer_of(text: str) -> Layer:
    """Return the layer that a constructor's text stands for."""
    if text in FUNCTIONS:
        name, arguments = FUNCTIONS[text]
        return LAYERS.get(name)(**arguments)
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    given = [ast.literal_eval(argument) for argument in call.args]
    named = {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
    arguments = (
        _TORCH_DEFAULTS.get(name, {}) | dict(zip(POSITIONAL.get(name, ()), given, strict=False)) | named
    )
    return LAYERS.get(name)(**arguments)


def shapes_of(text: str) -> list[tuple[tuple[int, ...], DType]]:
    """Return shapes as ``2x128:int 2x8`` says them."""
    found = []
    for part in text.split():
        size, _, kind = part.partition(":")
        found.append((tuple(int(n) for n in re.findall(r"\d+", size)), DType.INT64 if kind else DType.FP32))
    return found


def run(
    layer: Layer,
    shapes: list[tuple[tuple[int, ...], DType]],
    *,
    policy: str = "fp32",
    input_gradient: bool = True,
    training: bool = True,
    software: Software | None = None,
) -> Record:
    """Record one call; by default as on a CPU of 2024: un-fused RMS norm, attention with its matrix."""
    software = software or Software(era=2024, attention=AttentionKernel.MATH)
    setting = Setting(policy=POLICIES.get(policy), software=software, training=training)
    inputs = tuple(Signature(shape, dtype, input_gradient and dtype.is_floating) for shape, dtype in shapes)
    return record(layer, inputs, setting)


def rows(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def flops(record: Record, *phases: Phase) -> int:
    return sum(kernel.flops for kernel in record.kernels if kernel.phase in phases)


def params(record: Record) -> int:
    return sum(weight.numel for weight in record.weights)


BACKWARD = (Phase.DGRAD, Phase.WGRAD)
CASES = {row["case"]: row for row in rows("layer_cases.csv")}

# The recording counts 0 backward FLOPs here because PyTorch's counter has no formula for
# aten::_trilinear (its forward count of 0 was put right by hand, the backward was not). Each of the three
# gradients contracts two of (x, y, W) with the output's gradient, and only inputs are kept, so each is a
# form of the forward's size: 3 x 2 N O (I J + J) = 3 x 6,451,200; without input gradients the weight's
# alone.
CORRECTED = {"bilinear": (3 * 6451200, 6451200)}


@pytest.mark.parametrize("case", CASES)
def test_counts_equal_the_recorded_ones(case: str) -> None:
    row = CASES[case]
    layer, shapes = layer_of(row["layer"]), shapes_of(row["input_shapes"])
    both, weights = run(layer, shapes), run(layer, shapes, input_gradient=False)
    (expected,) = (shape for shape, _ in shapes_of(row["output_shape"]))
    assert both.outputs[0].shape == expected
    assert params(both) == int(row["params"])
    assert flops(both, Phase.FORWARD) == int(row["forward_flops"])
    wanted = (int(row["backward_flops"]), int(row["backward_flops_weights_only"]))
    assert (flops(both, *BACKWARD), flops(weights, *BACKWARD)) == CORRECTED.get(case, wanted)


SAVED = {row["case"]: row for row in rows("saved_activations.csv")}


@pytest.mark.parametrize("case", SAVED)
def test_kept_memory_equals_the_recorded_one(case: str) -> None:
    row = SAVED[case]
    integer = ":int" if row["layer"].startswith("Embedding") else ""
    left = run(layer_of(row["layer"]), shapes_of(row["input_shapes"] + integer))
    of_output = left.outputs[0].storage
    inputs = sum(size for storage, size in left.saved if storage < 0)
    output = sum(size for storage, size in left.saved if storage == of_output >= 0)
    extra = sum(size for storage, size in left.saved if storage >= 0 and storage != of_output)
    recorded = tuple(int(row[f"saved_{what}_bytes"]) for what in ("input", "output", "extra"))
    if row["layer"].startswith(("MultiheadAttention", "LSTM")):  # one of input and a copy of it is kept
        assert inputs + output + extra == sum(recorded)
    else:
        assert (inputs, output, extra) == recorded


# Public cases in which a counter was wrong, with the right value; below the layers of those that the
# recorded cases do not hold: (layer, input shapes), one after the other.
BUGS = {row["id"]: row for row in rows("flop_bugs.csv") if row["forward_flops"] or row["params"]}

LAYER_OF_BUG: dict[str, list[tuple[str, str]]] = {
    "2": [("Conv2d(1, 128, 3)", "1x1x128x128")],
    "7": [("Conv2d(24, 12, 3, groups=12, bias=False)", "1x24x30x30")] * 2,
    "10": [("Conv2d(32, 32, 3, padding=1, groups=32, bias=False)", "2x32x16x16")],
    "30": [("Linear(1024, 512)", "1x1024")],
    "33": [("x @ y", "24x16 5x16x7")],
    "34": [("x @ y", "5x6 6")],
    "35": [("Bilinear(20, 30, 40)", "16x20 16x30")],
    "36": [("Linear(16, 24)", "5x16")],
    "37": [("Linear(10, 10, bias=False)", "1x10")],
    "45": [("MultiheadAttention(768, 12, batch_first=True)", "1x512x768 1x512x768 1x512x768")],
    "50": [("F.scaled_dot_product_attention (flash kernel)", "1x12x64x64 1x12x64x64 1x12x64x64")],
    "51": [("F.scaled_dot_product_attention (flash kernel)", "2x5x9x4 2x5x9x4 2x5x9x4")],
    "61": [("LSTM(12, 128, batch_first=True)", "1x250x12")],
    "79": [("Embedding(100, 8)", "4x7:int")],
    "84": [("TransformerEncoderLayer(128, 8, 256, batch_first=True)", "1x512x128")],
    "86": [("Embedding(30522, 768)", "2x128:int")],
    "90": [("Conv2d(3, 64, 3, 1, 1)", "1x3x224x224"), ("AdaptiveAvgPool2d((None, 1))", "1x64x224x224")],
    "91": [("AvgPool1d(3, stride=2, ceil_mode=True, count_include_pad=False)", "1x1x4")],
    "95": [("Upsample(scale_factor=2)", "10x3x64x64")],
    "96": [("Upsample(scale_factor=2)", "1x3x64x64")],
    "97": [("Upsample(size=(64, 64))", "8x3x32x32")],
}
# Cases of whole networks, or of layers that share weights: tested where networks are.
NETWORK_BUGS = frozenset({"41", "43", "73", "75", "80", "81", "89", "105"})


def test_every_bug_that_states_a_value_is_a_test() -> None:
    covered = set(LAYER_OF_BUG) | NETWORK_BUGS | {i for i, row in BUGS.items() if row["golden_case"] in CASES}
    assert covered == set(BUGS)


@pytest.mark.parametrize("bug", sorted(set(BUGS) - NETWORK_BUGS, key=lambda i: int(str(i))))
def test_bugs_of_other_counters_are_not_ours(bug: str) -> None:
    row = BUGS[bug]
    layers = LAYER_OF_BUG.get(bug) or [
        (case["layer"], case["input_shapes"]) for case in [CASES[row["golden_case"]]]
    ]
    left = [run(layer_of(text), shapes_of(shapes)) for text, shapes in layers]
    phases = (Phase.FORWARD, *BACKWARD) if "backward" in row["layer"] else (Phase.FORWARD,)
    if row["forward_flops"]:
        assert sum(flops(one, *phases) for one in left) == int(row["forward_flops"])
    if row["params"]:
        assert sum(params(one) for one in left) == int(row["params"])


def test_in_place_output_is_the_same_memory() -> None:
    """Bug 113: an activation in place was charged again."""
    left = run(layer_of("ReLU(inplace=True)"), shapes_of("1x64x56x56"))
    assert left.outputs[0].storage == -1
    assert left.saved == ((-1, 64 * 56 * 56 * 4),)
