from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from estimator.precision import DType
from estimator.predict.table import OPTIMIZER_LAYER, build_pair, build_table, kind_of, product_shape
from estimator.workload.kernel import ConvShape, GemmShape, Kernel, Op, Phase
from estimator.workload.workload import Footprint, LayerWork, Workload

NOTHING = Footprint(weights_bytes=0, gradients_bytes=0, optimizer_bytes=0, activations_bytes=0, other_bytes=0)


def gemm(m: int, phase: Phase = Phase.FORWARD) -> Kernel:
    shape = GemmShape(1, m, 64, 32)
    return Kernel(
        name="linear", op=Op.GEMM, phase=phase, compute=DType.FP32, flops=shape.flops, bytes_read=4 * m * 32,
        bytes_written=4 * m * 64, shape=shape,
    )  # fmt: skip


def workload(batch: int, repeats: int = 1) -> Workload:
    layers = tuple(
        LayerWork(
            path=f"fc{i}", kind="Linear", output_shape=(batch, 64), parameters=2048,
            trainable_parameters=2048, saved_bytes=0, kernels=(gemm(batch), gemm(batch, Phase.DGRAD)),
        )
        for i in range(3)
    )  # fmt: skip
    step = Kernel(name="sgd", op=Op.OPTIMIZER, phase=Phase.OPTIMIZER, compute=DType.FP32, bytes_read=24576)
    return Workload(
        network="mlp", batch=batch, layers=layers, optimizer=(step,), footprint=NOTHING, repeats=repeats
    )


def conv(phase: Phase, *, groups: int = 1, stride: int = 1, transposed: bool = False, c: int = 64) -> Kernel:
    shape = ConvShape(
        8, c, c, groups, (28, 28), (28 // stride,) * 2, (3, 3), (stride, stride), (1, 1), transposed
    )
    op = Op.CONV if groups == 1 else Op.DEPTHWISE if groups == c else Op.GROUPED
    return Kernel(
        name="conv2d", op=op, phase=phase, compute=DType.FP32, flops=shape.flops, bytes_read=10, shape=shape
    )


def test_equal_kernels_stand_in_the_table_once() -> None:
    table = build_table(workload(16))
    assert len(table.flops) == 3
    assert table.runs.tolist() == [3, 3, 1]
    assert table.total(table.flops) == 6 * 2 * 16 * 64 * 32


def test_accumulation_repeats_the_passes_but_not_the_optimizer() -> None:
    table = build_table(workload(16, repeats=4))
    assert table.runs.tolist() == [12, 12, 1]


def test_sums_by_layer_and_phase_are_those_of_the_whole() -> None:
    table = build_table(workload(16))
    figure = table.bytes
    by_layer = table.by_layer(figure, 3, list(Phase))
    assert by_layer.sum() == table.total(figure) == table.by_phase(figure).sum()
    assert by_layer[-1] == 24576
    assert set(table.layer.tolist()) == {0, 1, 2, OPTIMIZER_LAYER}


def test_a_table_between_two_batch_sizes_is_the_lowered_one() -> None:
    small, large = build_pair(workload(16), workload(32))
    wanted = build_table(workload(128))
    between = small.between(large, (128 - 16) / (32 - 16))
    for name in ("flops", "bytes_read", "m", "k", "runs", "launches"):
        np.testing.assert_array_equal(getattr(between, name), getattr(wanted, name))


def test_a_pair_of_different_networks_is_refused() -> None:
    with pytest.raises(ValueError, match="different kernels"):
        build_pair(workload(16), Workload(network="x", batch=1, layers=(), optimizer=(), footprint=NOTHING))


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [
        (conv(Phase.FORWARD), (1, 8 * 784, 64, 576)),
        (conv(Phase.DGRAD), (1, 8 * 784, 64, 576)),
        (conv(Phase.WGRAD), (1, 64, 576, 8 * 784)),
        (conv(Phase.FORWARD, stride=2), (1, 8 * 196, 64, 576)),
        (conv(Phase.DGRAD, stride=2), (1, 8 * 784, 64, 144)),
        (conv(Phase.FORWARD, groups=4), (4, 8 * 784, 16, 144)),
    ],
)
def test_a_convolution_is_an_implicit_matrix_product(
    kernel: Kernel, shape: tuple[float, float, float, float]
) -> None:
    assert product_shape(kernel)[:4] == shape


def of_window(*kernel: int, dilation: int = 1) -> Kernel:
    sizes = (28,) * len(kernel)
    shape = ConvShape(8, 64, 64, 1, sizes, sizes, kernel, (1,) * len(kernel), (dilation,) * len(kernel))
    return Kernel(
        name="conv", op=Op.CONV, phase=Phase.FORWARD, compute=DType.FP32, flops=shape.flops, shape=shape
    )


def test_only_dense_3x3_and_5x5_of_stride_1_may_use_winograd() -> None:
    assert product_shape(conv(Phase.FORWARD)).winograd
    assert product_shape(of_window(5, 5)).winograd
    assert not product_shape(of_window(7, 7)).winograd
    assert not product_shape(of_window(5, 5, dilation=2)).winograd
    assert not product_shape(conv(Phase.FORWARD, stride=2)).winograd
    assert not product_shape(conv(Phase.FORWARD, groups=4)).winograd


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (conv(Phase.FORWARD), "conv"),
        (conv(Phase.FORWARD, c=4), "conv.thin"),
        (conv(Phase.FORWARD, groups=64), "depthwise"),
        (conv(Phase.FORWARD, groups=16, c=256), "grouped.fast"),
        (conv(Phase.FORWARD, groups=4, c=96), "grouped.narrow"),
        (conv(Phase.FORWARD, groups=2, c=128), "grouped.wide"),
        (gemm(8), "gemm.linear"),
        (replace(gemm(7), compute=DType.FP16), "gemm.linear"),  # its rows are 64 and 32 long
        (replace(gemm(8), compute=DType.FP16, shape=GemmShape(1, 8, 60, 32)), "gemm.unaligned"),
        (replace(gemm(8), compute=DType.FP16, shape=GemmShape(1, 8, 64, 33)), "gemm.unaligned"),
        (
            replace(gemm(8), compute=DType.FP16, shape=GemmShape(1, 64, 32, 7), phase=Phase.WGRAD),
            "gemm.linear",
        ),
        (replace(gemm(8), shape=GemmShape(1, 8, 61, 33)), "gemm.linear"),
        (of_window(3), "conv"),
        (of_window(3, dilation=2), "conv.dilated"),
        (of_window(1, dilation=2), "conv.pointwise"),
        (of_window(3, 3, dilation=2), "conv"),
    ],
)
def test_kinds(kernel: Kernel, kind: str) -> None:
    assert kind_of(kernel) == kind
