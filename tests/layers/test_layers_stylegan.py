"""StyleGAN's layers beside the same arithmetic in PyTorch: shapes, and what autograd keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.stylegan import (
    BiasLeakyReLU,
    FilteredLeakyReLU,
    FIRFilter2d,
    MinibatchStdDev,
    ModulatedConv2d,
)
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Software
from estimator.workload.kernel import Op, Phase
from tests.layers.layers_shared import kept_by_torch

if TYPE_CHECKING:
    from estimator.layers.base import Layer
    from estimator.layers.tape import Record

SAMPLES, CHANNELS, OUT, POINTS = 3, 6, 10, 9


def run(layer: Layer, *shapes: tuple[int, ...]) -> Record:
    setting = Setting(policy=POLICIES.get("fp32"), software=Software(era=2024))
    return record(layer, tuple(Signature(shape, DType.FP32, requires_grad=True) for shape in shapes), setting)


@pytest.mark.torch
def test_a_modulated_convolution_keeps_what_autograd_keeps() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(SAMPLES, CHANNELS, POINTS, POINTS, requires_grad=True)
    styles = torch.rand(SAMPLES, CHANNELS, requires_grad=True)
    weight = torch.rand(OUT, CHANNELS, 3, 3, requires_grad=True)
    gain = torch.ones(1, 1, 1, 1, 1)
    results = []

    def modulated(x: Any, styles: Any, weight: Any) -> Any:  # noqa: ANN401 - equations of the paper's appendix
        weight = weight * weight.square().mean([1, 2, 3], keepdim=True).rsqrt()
        styles = styles * styles.square().mean().rsqrt()
        each = weight[None] * styles[:, None, :, None, None]
        norms = (each.square().sum([2, 3, 4]) + 1e-8).rsqrt()
        each = each * norms[:, :, None, None, None] * gain
        results.append(
            torch.nn.functional.conv2d(
                x.reshape(1, -1, POINTS, POINTS), each.reshape(-1, CHANNELS, 3, 3), padding=2, groups=SAMPLES
            )
        )
        return results

    theirs = kept_by_torch(modulated, x, styles, weight, besides=(x, styles, weight, gain))
    left = run(
        ModulatedConv2d(out_channels=OUT, kernel_size=3, padding=2),
        (SAMPLES, CHANNELS, POINTS, POINTS),
        (SAMPLES, CHANNELS),
    )
    assert left.outputs[0].shape == (SAMPLES, OUT, *results[0].shape[2:])
    ours = sum(size for storage, size in left.saved if storage >= 0)
    assert ours == theirs


def test_samples_are_groups_of_one_convolution() -> None:
    left = run(
        ModulatedConv2d(out_channels=OUT, kernel_size=3, padding=1),
        (SAMPLES, CHANNELS, POINTS, POINTS),
        (SAMPLES, CHANNELS),
    )
    products = [kernel for kernel in left.kernels if kernel.flops]
    assert [kernel.phase for kernel in products] == [Phase.FORWARD, Phase.DGRAD, Phase.WGRAD]
    assert {kernel.op for kernel in products} == {Op.GROUPED}
    assert {kernel.flops for kernel in products} == {2 * SAMPLES * OUT * CHANNELS * 9 * POINTS**2}
    with pytest.raises(LayerError, match="a style of each channel"):
        run(
            ModulatedConv2d(out_channels=OUT, kernel_size=3),
            (SAMPLES, CHANNELS, POINTS, POINTS),
            (SAMPLES, 4),
        )


def test_the_filtered_activation_keeps_two_bits_a_point_between_its_filters() -> None:
    layer = FilteredLeakyReLU(out_size=10, up=2, down=2, up_taps=12, down_taps=12)
    left = run(layer, (SAMPLES, CHANNELS, POINTS, POINTS))
    assert left.outputs[0].shape == (SAMPLES, CHANNELS, 10, 10)
    # (10 - 1) * 2 + 12 rows and columns feed 10 points through 12 taps; four points to a byte.
    assert sum(size for _, size in left.saved) == SAMPLES * CHANNELS * 30 * 8
    assert [k.name for k in left.kernels if k.phase is not Phase.WGRAD] == [
        "filtered_lrelu",
        "filtered_lrelu_backward",
    ]


def test_a_filter_without_product_reads_more() -> None:
    shape = (1, CHANNELS, 36, 36)
    plain, radial = (
        run(
            FilteredLeakyReLU(out_size=36, up=2, down=2, up_taps=12, down_taps=12, radial=radial), shape
        ).kernels[0]
        for radial in (False, True)
    )
    assert radial.elements > plain.elements
    assert radial.bytes == plain.bytes


@pytest.mark.torch
@pytest.mark.parametrize(("down", "padding"), [(1, 2), (2, 1)])
def test_a_fixed_filter_has_the_shape_of_a_depthwise_convolution(down: int, padding: int) -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(SAMPLES, CHANNELS, POINTS, POINTS)
    taps = torch.ones(CHANNELS, 1, 4, 4)
    theirs = torch.nn.functional.conv2d(x, taps, stride=down, padding=padding, groups=CHANNELS)
    left = run(FIRFilter2d(down=down, padding=padding), tuple(x.shape))
    assert left.outputs[0].shape == tuple(theirs.shape)
    assert left.saved == ()
    assert left.weights == ()


def test_bias_and_activation_keep_the_output_only() -> None:
    left = run(BiasLeakyReLU(), (SAMPLES, CHANNELS, POINTS, POINTS))
    assert dict(left.saved) == {left.outputs[0].storage: left.outputs[0].bytes}
    assert [weight.shape for weight in left.weights] == [(CHANNELS,)]


def test_the_deviation_is_one_more_channel_and_groups_share_it() -> None:
    assert run(MinibatchStdDev(), (8, CHANNELS, 4, 4)).outputs[0].shape == (8, CHANNELS + 1, 4, 4)
    with pytest.raises(LayerError, match="no multiple of 4"):
        run(MinibatchStdDev(), (6, CHANNELS, 4, 4))
