"""What must hold for every registered layer, run on its example."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Layout, Mode, Software
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.base import Layer
    from estimator.layers.tape import Record
    from estimator.workload.kernel import Kernel

NAMES = list(LAYERS)
PRODUCTS = frozenset({Op.GEMM, Op.BMM, Op.CONV, Op.GROUPED, Op.DEPTHWISE, Op.ATTENTION, Op.RECURRENT})

# Layers whose first dimension is no batch (of a weight that is an input), or whose work ignores it.
NO_BATCH = frozenset(
    {
        "Parameter",
        "Constant",
        "Serial",
        "Addcmul",
        "FunctionalConv1d",
        "FunctionalConv2d",
        "FunctionalConv3d",
        "FunctionalBatchNorm",
    }
)
# Factorizations and their gradients have counts of their own; autocast leaves them in their format.
FACTORIZATIONS = frozenset({"TriangularSolve", "Cholesky", "LU", "QR"})
# A single step starts from a state that needs no gradient.
CELLS = frozenset({"RNNCell", "LSTMCell", "GRUCell"})
# A product of three operands: each of its gradients costs as much as the forward again.
THREE_OPERANDS = frozenset({"Bilinear"})


def layer(name: str) -> Layer:
    cls = LAYERS.get(name)
    return cls(**cls.example.arguments)


def run(
    name: str,
    *,
    policy: str = "fp32",
    training: bool = True,
    times: int = 1,
    mode: Mode = Mode.EAGER,
    layout: Layout = Layout.CHANNELS_FIRST,
    trainable: bool = True,
    input_gradient: bool = True,
) -> Record:
    """Record a layer's example with its batch ``times`` as large."""
    example = LAYERS.get(name).example
    inputs = tuple(
        Signature((shape[0] * times, *shape[1:]), example.dtype, input_gradient and example.dtype.is_floating)
        for shape in example.shapes
    )
    setting = Setting(
        policy=POLICIES.get(policy), software=Software(mode=mode, layout=layout), training=training,
        trainable=trainable,
    )  # fmt: skip
    return record(layer(name), inputs, setting)


def flops(left: Record, *phases: Phase) -> int:
    return sum(kernel.flops for kernel in left.kernels if not phases or kernel.phase in phases)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("policy", POLICIES)
def test_example_runs_in_every_precision(name: str, policy: str) -> None:
    left = run(name, policy=policy)
    assert left.outputs
    for kernel in left.kernels:
        assert kernel.launches >= 1
        assert min(kernel.flops, kernel.elementwise_flops, kernel.bytes_read, kernel.bytes_written) >= 0
        assert kernel.weight_bytes <= kernel.bytes_read


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("mode", Mode)
def test_software_never_changes_flops(name: str, mode: Mode, layout: Layout) -> None:
    assert flops(run(name, mode=mode, layout=layout)) == flops(run(name))


@pytest.mark.parametrize("name", sorted(set(NAMES) - NO_BATCH))
def test_work_grows_with_the_batch(name: str) -> None:
    if not LAYERS.get(name).example.shapes:
        pytest.fail("an example with a batch is needed")
    one, three = run(name), run(name, times=3)
    assert flops(three, Phase.FORWARD) == 3 * flops(one, Phase.FORWARD)
    assert flops(three) == 3 * flops(one)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_do_not_depend_on_the_batch(name: str) -> None:
    assert run(name).weights == run(name, times=1 if name in NO_BATCH else 2).weights


def is_product(kernel: Kernel) -> bool:
    return kernel.op in PRODUCTS and kernel.flops > 0


@pytest.mark.parametrize("name", NAMES)
def test_backward_of_a_product_is_twice_its_forward(name: str) -> None:
    left = run(name)
    products = [kernel for kernel in left.kernels if is_product(kernel)]
    if name in THREE_OPERANDS | FACTORIZATIONS | CELLS:
        return
    if any(kernel.op in (Op.ATTENTION, Op.RECURRENT) for kernel in products):
        return  # fused attention multiplies five times, a recurrence has no gradient of its first state
    forward = sum(kernel.flops for kernel in products if kernel.phase is Phase.FORWARD)
    backward = sum(kernel.flops for kernel in products if kernel.phase in (Phase.DGRAD, Phase.WGRAD))
    assert backward == 2 * forward


# Layers that read a part of an input (rows, the places of indices, a triangle), or state their traffic.
PARTIAL = frozenset(
    {"Embedding", "EmbeddingBag", "Gather", "IndexSelect", "NLLLoss", "Custom", "Serial", "TriangularSolve",
     "Assign", "AssignSlice"}
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(NAMES) - PARTIAL))
def test_traffic_is_at_least_compulsory(name: str) -> None:
    """Layers that launch anything read each input once at least, and write each output."""
    left = run(name, training=False)
    if not left.kernels:
        return
    example = LAYERS.get(name).example
    inputs = sum(prod(shape) * example.dtype.itemsize for shape in example.shapes)
    outputs = sum(out.bytes for out in left.outputs if out.storage > 0 and out.strides is None)
    assert sum(kernel.bytes_read for kernel in left.kernels) >= inputs
    assert sum(kernel.bytes_written for kernel in left.kernels) >= outputs


@pytest.mark.parametrize("name", NAMES)
def test_inference_has_no_backward_and_keeps_nothing(name: str) -> None:
    left = run(name, training=False)
    assert not left.saved
    assert {kernel.phase for kernel in left.kernels} <= {Phase.FORWARD}
    assert not any(out.requires_grad for out in left.outputs)


@pytest.mark.parametrize("name", NAMES)
def test_frozen_weights_have_no_gradient(name: str) -> None:
    left = run(name, trainable=False, input_gradient=False)
    assert not any(kernel.phase in (Phase.DGRAD, Phase.WGRAD) for kernel in left.kernels)
    assert not any(weight.trainable for weight in left.weights)


@pytest.mark.parametrize("name", NAMES)
def test_backward_needs_training_gradients(name: str) -> None:
    """What needs no gradient gets none: without input gradients no dgrad of a first product remains."""
    with_inputs, without = run(name), run(name, input_gradient=False)
    assert flops(without) <= flops(with_inputs)
    assert flops(without, Phase.FORWARD) == flops(with_inputs, Phase.FORWARD)


@pytest.mark.parametrize("name", NAMES)
def test_mixed_precision_halves_the_bytes_of_products(name: str) -> None:
    full, mixed = (
        [kernel for kernel in run(name, policy=policy).kernels if is_product(kernel)]
        for policy in ("fp32", "amp")
    )
    if name in THREE_OPERANDS | FACTORIZATIONS:
        return  # the bilinear form is promoted to fp32
    for a, b in zip(full, mixed, strict=True):
        assert b.compute is DType.FP16
        if b.op in (Op.ATTENTION, Op.RECURRENT):  # they keep sums or states in fp32
            assert b.bytes < a.bytes
        else:
            assert 2 * b.bytes == a.bytes


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"])
@pytest.mark.parametrize("groups", [2, 4])
def test_groups_divide_the_work(name: str, groups: int) -> None:
    dense = layer(name)
    shapes = tuple(Signature(shape, DType.FP32, requires_grad=True) for shape in dense.example.shapes)
    setting = Setting(policy=POLICIES.get("fp32"), software=Software())
    whole = record(dense, shapes, setting)
    parts = record(replace(dense, groups=groups), shapes, setting)  # type: ignore[call-arg]
    assert flops(parts) * groups == flops(whole)
    assert parts.weights[0].numel * groups == whole.weights[0].numel


UNBATCHED = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "LPPool1d", "LPPool2d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReplicationPad2d", "ZeroPad2d", "CircularPad2d", "PixelShuffle", "PixelUnshuffle",
    "Unfold", "Fold", "Dropout2d", "Linear", "LayerNorm", "RMSNorm", "ReLU", "GELU", "MatMul",
]  # fmt: skip


@pytest.mark.parametrize("name", UNBATCHED)
def test_without_a_batch_is_a_batch_of_one(name: str) -> None:
    setting = Setting(policy=POLICIES.get("fp32"), software=Software())
    shapes = [shape[1:] for shape in LAYERS.get(name).example.shapes]
    single = record(layer(name), tuple(Signature(s, DType.FP32, requires_grad=True) for s in shapes), setting)
    batch = record(
        layer(name), tuple(Signature((1, *s), DType.FP32, requires_grad=True) for s in shapes), setting
    )
    assert (1, *single.outputs[0].shape) == batch.outputs[0].shape
    assert flops(single) == flops(batch)
    assert [kernel.bytes for kernel in single.kernels] == [kernel.bytes for kernel in batch.kernels]
    assert sum(size for _, size in single.saved) == sum(size for _, size in batch.saved)


@pytest.mark.parametrize("name", sorted(set(NAMES) - NO_BATCH))
def test_a_single_number_is_refused_or_taken_but_never_a_crash(name: str) -> None:
    setting = Setting(policy=POLICIES.get("fp32"), software=Software())
    example = LAYERS.get(name).example
    for shape in ((), (0,), (2,), (2, 3), (1, 2, 3, 4, 5, 6)):
        signatures = tuple(Signature(shape, example.dtype, requires_grad=False) for _ in example.shapes)
        try:
            record(layer(name), signatures, setting)
        except LayerError as error:
            assert error.message  # noqa: PT017 - either outcome is right, a message is what counts
