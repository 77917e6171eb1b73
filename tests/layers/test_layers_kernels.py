"""The passes and formats of the kernels that layers launch, and textbook counts of linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Mode, Software
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.base import Layer
    from estimator.layers.tape import Record

X = (64, 32, 14, 14)
SIZE = 64 * 32 * 14 * 14 * 4  # bytes of X in fp32


def make(name: str, **arguments: object) -> Layer:
    cls: Any = LAYERS.get(name)
    layer: Layer = cls(**arguments)
    return layer


def run(
    layer: Layer,
    *shapes: tuple[int, ...],
    policy: str = "fp32",
    training: bool = True,
    grad: bool = True,
    dtype: DType = DType.FP32,
    software: Software | None = None,
) -> Record:
    setting = Setting(policy=POLICIES.get(policy), software=software or Software(), training=training)
    return record(layer, tuple(Signature(s, dtype, grad and dtype.is_floating) for s in shapes), setting)


def passes(left: Record, *phases: Phase) -> float:
    """Return the traffic of the large kernels in units of X."""
    return sum(k.bytes - k.weight_bytes for k in left.kernels if k.phase in phases) / SIZE


@pytest.mark.parametrize(
    ("layer", "forward", "backward"),
    [
        (make("BatchNorm2d"), 3, 5),
        (make("GroupNorm", num_groups=8), 3, 5),
        (make("LayerNorm", normalized_shape=(32, 14, 14)), 3, 5),
        (make("RMSNorm", normalized_shape=(32, 14, 14)), 3, 5),
        (make("InstanceNorm2d"), 3, 5),
        (make("ReLU"), 2, 3),
        (make("GELU"), 2, 3),
        (make("SiLU", inplace=True), 4, 3),
        (make("ReLU", inplace=True), 2, 3),
        (make("Softmax", dim=1), 2, 3),
        (make("Flatten"), 0, 0),
        (make("Identity"), 0, 0),
        (make("AddScalar"), 2, 0),
    ],
    ids=str,
)
def test_passes_over_memory(layer: Layer, forward: int, backward: int) -> None:
    left = run(layer, X)
    assert passes(left, Phase.FORWARD) == pytest.approx(forward, abs=0.05)
    assert passes(left, Phase.DGRAD, Phase.WGRAD) == pytest.approx(backward, abs=0.05)


def test_layer_norm_has_two_backward_kernels() -> None:
    left = run(make("LayerNorm"), (8, 128, 768))
    assert [(k.name, k.phase) for k in left.kernels] == [
        ("layer_norm", Phase.FORWARD),
        ("layer_norm_backward", Phase.DGRAD),
        ("layer_norm_wgrad", Phase.WGRAD),
    ]


def test_batch_norm_counts_its_batches() -> None:
    left = run(make("BatchNorm2d"), X)
    assert left.kernels[0].elements == 1
    assert [k.name for k in run(make("BatchNorm2d"), X, training=False).kernels] == ["batch_norm_inference"]
    assert passes(run(make("BatchNorm2d"), X, training=False), Phase.FORWARD) == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("name", ["LayerNorm", "GroupNorm", "Softmax", "Softplus", "Exp", "Sum", "Cumsum"])
def test_autocast_runs_sensitive_functions_in_fp32(name: str) -> None:
    arguments = {"num_groups": 8} if name == "GroupNorm" else {}
    left = run(make(name, **arguments), X, policy="amp", dtype=DType.FP16)
    assert left.kernels[0].name == "cast"
    assert left.outputs[0].dtype is DType.FP32


@pytest.mark.parametrize("name", ["ReLU", "GELU", "BatchNorm2d", "MaxPool2d", "Dropout", "Sigmoid", "Mean"])
def test_autocast_leaves_other_functions_in_fp16(name: str) -> None:
    arguments = {"kernel_size": 2} if name == "MaxPool2d" else {}
    left = run(make(name, **arguments), X, policy="amp", dtype=DType.FP16)
    assert left.outputs[0].dtype is DType.FP16
    assert "cast" not in [k.name for k in left.kernels]


def test_sum_of_half_and_full_precision_casts_its_gradient() -> None:
    """The residual stream is fp32 under autocast; the gradient of an fp16 branch is cast back."""
    setting = Setting(policy=POLICIES.get("amp"), software=Software())
    signatures = (
        Signature((8, 16), DType.FP32, requires_grad=True),
        Signature((8, 16), DType.FP16, requires_grad=True),
    )
    left = record(make("Add"), signatures, setting)
    assert left.outputs[0].dtype is DType.FP32
    assert [(k.name, k.phase) for k in left.kernels] == [("add", Phase.FORWARD), ("cast", Phase.DGRAD)]


def test_written_out_gelu_is_eight_kernels_until_fused() -> None:
    layer = make("GELU", approximate="new")
    eager = [k for k in run(layer, X).kernels if k.phase is Phase.FORWARD]
    fused = [k for k in run(layer, X, software=Software(mode=Mode.FUSED)).kernels if k.phase is Phase.FORWARD]
    assert (len(eager), len(fused)) == (8, 1)


def test_rms_norm_is_six_kernels_until_frameworks_fused_it() -> None:
    old = [
        k for k in run(make("RMSNorm"), X, software=Software(era=2023)).kernels if k.phase is Phase.FORWARD
    ]
    new = [k for k in run(make("RMSNorm"), X).kernels if k.phase is Phase.FORWARD]
    assert (len(old), len(new)) == (6, 1)


def test_max_pool_writes_int64_indices() -> None:
    left = run(make("MaxPool2d", kernel_size=2), X)
    forward = left.kernels[0]
    assert forward.bytes_read == SIZE
    assert forward.bytes_written == SIZE // 4 + SIZE // 4 * 2


def test_embedding_reads_rows_and_scatters_into_a_dense_table() -> None:
    left = run(make("Embedding", num_embeddings=1000, embedding_dim=16), (4, 8), dtype=DType.INT64)
    forward, backward = left.kernels
    assert (forward.op, forward.bytes_read, forward.bytes_written) == (
        Op.GATHER,
        4 * 8 * (16 * 4 + 8),
        4 * 8 * 64,
    )
    assert (backward.op, backward.bytes_written) == (Op.SCATTER, 1000 * 16 * 4)
    layer = make("Embedding", num_embeddings=1000, embedding_dim=16, sparse=True)
    assert run(layer, (4, 8), dtype=DType.INT64).kernels[1].bytes_written == 4 * 8 * 64


def test_broadcast_operands_count_at_their_own_size() -> None:
    left = run(make("Mul"), X, (64, 32, 1, 1))
    assert left.kernels[0].bytes_read == SIZE + 64 * 32 * 4
    assert "broadcast_backward" in [k.name for k in left.kernels]


def test_serial_steps_are_in_the_kernel_whatever_the_batch() -> None:
    for batch in (1, 8):
        (kernel,) = run(make("Serial", steps=1000, flops_per_step=3), (batch, 4)).kernels
        assert (kernel.op, kernel.serial_steps, kernel.flops) == (Op.SERIAL, 1000, 3000)


def test_custom_work_is_a_sample_s() -> None:
    layer = make("Custom", out_shape=(5,), params=10, flops=7, bytes=100)
    left = run(layer, (3, 4))
    assert [(k.phase, k.flops, k.bytes) for k in left.kernels] == [
        (Phase.FORWARD, 21, 300), (Phase.DGRAD, 21, 300), (Phase.WGRAD, 21, 300)
    ]  # fmt: skip
    assert left.outputs[0].shape == (3, 5)
    assert sum(w.numel for w in left.weights) == 10


@pytest.mark.parametrize(
    ("name", "sizes", "flops"),
    [
        ("Dot", {"n": 1000}, 2 * 1000),
        ("Axpy", {"n": 1000}, 2 * 1000),
        ("MatVec", {"m": 30, "n": 50}, 2 * 30 * 50),
        ("MatMat", {"m": 30, "n": 50, "p": 70}, 2 * 30 * 50 * 70),
        ("TriangularSolve", {"n": 100}, 100**2),
        ("Cholesky", {"n": 99}, 99**3 // 3),
        ("LU", {"n": 99}, 2 * 99**3 // 3),
        ("QR", {"m": 120, "n": 90}, 2 * 90**2 * (120 - 30)),
    ],
)
def test_textbook_counts(name: str, sizes: dict[str, int], flops: int) -> None:
    left = run(make(name, **sizes), training=False)
    assert sum(k.flops for k in left.kernels) == flops
    batch = run(make(name, **sizes), (5, 1), training=False)
    assert sum(k.flops for k in batch.kernels) == 5 * flops


def test_adding_one_is_an_operation_an_element() -> None:
    (kernel,) = run(make("AddScalar"), (10, 10), training=False).kernels
    assert (kernel.flops, kernel.elementwise_flops) == (0, 100)


@pytest.mark.parametrize(
    ("layer", "shapes", "message"),
    [
        (make("BatchNorm2d", num_features=3), [X], "num_features is 3 but the input has 32 channels"),
        (make("Concat"), [(2, 8, 30, 30), (2, 3, 32, 32)], "shapes [2, 8, 30, 30] and [2, 3, 32, 32] do not"),
        (make("Add"), [(2, 8)], "two or more inputs"),
        (make("MaxPool2d", kernel_size=20), [X], "does not fit"),
        (make("Upsample"), [X], "size or scale_factor"),
        (make("PixelShuffle", upscale_factor=3), [X], "do not divide"),
        (make("Reshape", shape=(7, -1, 5)), [(2, 4)], "do not fit the shape"),
        (make("Permute", dims=(0, 1)), [X], "each dimension"),
        (make("Embedding", num_embeddings=3, embedding_dim=2), [X], "whole numbers"),
        (make("Split", split_size=(3, 4)), [X], "do not add up"),
        (make("GroupNorm", num_groups=5), [X], "do not divide"),
        (make("LU"), [(2, 3, 4)], "square"),
        (make("MatVec", m=3), [X], "give all sizes"),
        (make("MaskedFill"), [(2, 8, 840), (1, 1, 1680)], "shapes [2, 8, 840] and [1, 1, 1680] do not"),
        (make("MaskedFill"), [(2, 1, 8), (2, 4, 8)], "a mask [2, 4, 8] does not fit into [2, 1, 8]"),
        (make("GridSample"), [X, (2, 5, 5, 3)], "with points (N, H', W', 2)"),
        (make("GridSample", mode="bicubic"), [(2, 3, 4, 4, 4), (2, 2, 2, 2, 3)], "images only"),
        (
            make("CondConv2d", out_channels=4, kernel_size=3, num_experts=3),
            [(2, 8, 8, 8), (2, 4)],
            "the second input is [2, 4]",
        ),
    ],
    ids=lambda value: getattr(value, "type_name", ""),
)
def test_what_does_not_fit_is_said(layer: Layer, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(LayerError) as error:
        run(layer, *shapes)
    assert message in error.value.message


def test_fp8_weights_are_quantised_once_an_update() -> None:
    left = run(make("Linear", in_features=64, out_features=32, bias=False), (16, 64), policy="fp8",
               dtype=DType.BF16)  # fmt: skip
    by_phase = {phase: [k for k in left.kernels if k.phase is phase] for phase in Phase}
    (quantise,) = by_phase[Phase.OPTIMIZER]
    assert (quantise.bytes_read, quantise.bytes_written) == (2 * 32 * 64, 32 * 64)
    casts = [k for k in left.kernels if k.name == "cast"]
    assert {k.elements for k in casts} == {16 * 64}  # the input and its gradient, no weight
    products = [k for k in left.kernels if k.op is Op.GEMM]
    assert {k.compute for k in products} == {DType.FP8}


def test_fp8_leaves_products_of_activations_alone() -> None:
    q = (2, 4, 8, 16)
    left = run(make("ScaledDotProductAttention"), q, q, q, policy="fp8", dtype=DType.BF16)
    assert {k.compute for k in left.kernels if k.op is Op.ATTENTION} == {DType.BF16}
    assert not [k for k in left.kernels if k.name == "cast"]
    still = run(make("Linear", in_features=64, out_features=32), (16, 64), policy="fp8", training=False)
    assert not [k for k in still.kernels if k.phase is Phase.OPTIMIZER]


def test_a_batch_norm_over_devices_does_what_one_on_a_device_does() -> None:
    for one, shape in (
        ("BatchNorm1d", (4, 8)),
        ("BatchNorm2d", (4, 8, 6, 6)),
        ("BatchNorm3d", (4, 8, 3, 6, 6)),
    ):
        assert run(make("SyncBatchNorm"), shape) == run(make(one), shape)
