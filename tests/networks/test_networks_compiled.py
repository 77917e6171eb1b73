"""What a compiler makes of a network: fewer kernels and bytes, the same products, a layout of its own."""

import io

import pytest

from estimator.app.source import open_network
from estimator.catalog.networks import load_network
from estimator.networks.graph import Network
from estimator.networks.layouts import settled
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.precision import POLICIES
from estimator.software import Layout, Mode, Software
from estimator.workload.kernel import Op
from estimator.workload.workload import Workload

GROUPED = """\
format: 1
name: grouped
inputs: {image: {shape: [64, 16, 16]}}
layers:
  - {type: Conv2d, out_channels: 256, kernel_size: 3, padding: 1, groups: 4}
  - ReLU
  - Flatten
  - {type: Linear, out_features: 10}
loss: CrossEntropyLoss
"""


def training(mode: Mode, *, era: int = 2025, inference: bool = False) -> Training:
    software = Software(mode=mode, era=era)
    return Training(batch=8, precision=POLICIES.get("amp"), software=software, training=not inference)


def described(text: str) -> Network:
    return open_network("-", (), io.BytesIO(text.encode())).network


def moved(workload: Workload, op: Op) -> int:
    return sum(k.bytes for layer in workload.layers for k in layer.kernels if k.op is op)


def launched(workload: Workload) -> float:
    return sum(k.launches for layer in workload.layers for k in layer.kernels)


@pytest.mark.parametrize("name", ["resnet50", "gpt2", "mobilenet_v2", "lstm_lm"])
def test_fusion_saves_traffic_and_launches_and_leaves_products_alone(name: str) -> None:
    network = load_network(name)
    eager, fused = (lower(network, training(mode)) for mode in (Mode.EAGER, Mode.COMPILED))
    assert fused.forward_flops == eager.forward_flops
    assert fused.backward_flops == eager.backward_flops
    for op in (Op.GEMM, Op.CONV, Op.BMM):
        assert moved(fused, op) == moved(eager, op)
    assert moved(fused, Op.ELEMENTWISE) < moved(eager, Op.ELEMENTWISE)
    assert launched(fused) < launched(eager)


def test_the_relu_behind_a_norm_joins_it() -> None:
    """ResNet-50 runs 53 norms; 49 activations follow one or the sum behind it."""
    network = load_network("resnet50")
    eager, fused = (lower(network, training(mode, inference=True)) for mode in (Mode.EAGER, Mode.COMPILED))
    kernels = [
        sum(k.op is Op.ELEMENTWISE for layer in w.layers for k in layer.kernels) for w in (eager, fused)
    ]
    assert kernels[0] - kernels[1] >= 49


def with_shortcut(layer: str) -> Network:
    """Describe the sum of what a convolution makes of the input and what a layer before it does."""
    return described(
        "format: 1\nname: shortcut\ninputs: {image: {shape: [64, 16, 16]}}\nlayers:\n"
        f"  - {{{layer}, from: image, name: kept}}\n"
        "  - {type: Conv2d, from: image, out_channels: 64, kernel_size: 1, bias: false, name: made}\n"
        "  - {type: Add, from: [made, kept]}\nloss: MSELoss\n"
    )


def test_what_one_later_layer_takes_is_computed_there() -> None:
    """The scaled input is neither written nor read: the sum costs what it does without."""
    compiled = training(Mode.COMPILED, inference=True)
    plain, one = (
        lower(with_shortcut(layer), compiled) for layer in ("type: Identity", "type: MulScalar, value: 2.0")
    )
    eager = lower(with_shortcut("type: MulScalar, value: 2.0"), training(Mode.EAGER, inference=True))
    assert moved(one, Op.ELEMENTWISE) == moved(plain, Op.ELEMENTWISE)
    assert moved(eager, Op.ELEMENTWISE) > moved(one, Op.ELEMENTWISE)


@pytest.mark.parametrize(
    "activation", ["{type: ReLU, name: kept}", "{type: ReLU, inplace: true, name: kept}"]
)
def test_the_backward_of_an_activation_that_a_later_sum_takes_joins_its_norm(activation: str) -> None:
    """Whether it writes over its input or not: its forward is in the sum, its backward stays where it was."""
    network = described(
        "format: 1\nname: moved\ninputs: {image: {shape: [64, 16, 16]}}\nlayers:\n"
        "  - {type: Conv2d, out_channels: 64, kernel_size: 1, bias: false}\n"
        f"  - BatchNorm2d\n  - {activation}\n"
        "  - {type: Conv2d, from: image, out_channels: 64, kernel_size: 1, bias: false, name: made}\n"
        "  - {type: Add, from: [made, kept]}\nloss: MSELoss\n"
    )
    (relu,) = (w for w in lower(network, training(Mode.COMPILED)).layers if w.kind == "ReLU")
    assert not relu.kernels


@pytest.mark.parametrize(
    ("network", "mode", "era", "layout"),
    [
        ("resnet50", Mode.COMPILED, 2025, Layout.CHANNELS_LAST),
        ("resnet50", Mode.COMPILED, 2022, Layout.CHANNELS_FIRST),
        ("resnet50", Mode.EAGER, 2025, Layout.CHANNELS_FIRST),
        ("resnext50_32x4d", Mode.COMPILED, 2025, Layout.CHANNELS_FIRST),
        ("mobilenet_v2", Mode.COMPILED, 2025, Layout.CHANNELS_LAST),
        ("gpt2", Mode.COMPILED, 2025, Layout.CHANNELS_FIRST),
    ],
)
def test_the_layout_a_compiler_chooses_for_training(
    network: str, mode: Mode, era: int, layout: Layout
) -> None:
    assert settled(load_network(network), training(mode, era=era), on_cpu=False).software.layout is layout


def test_cpus_take_channels_last_whatever_the_groups() -> None:
    asked = training(Mode.COMPILED)
    assert settled(described(GROUPED), asked, on_cpu=True).software.layout is Layout.CHANNELS_LAST
    assert settled(described(GROUPED), asked, on_cpu=False).software.layout is Layout.CHANNELS_FIRST


def test_inference_weighs_flops() -> None:
    """Grouped FLOPs count 1.358, others 0.725 to 0.823: ResNeXt-50 is mostly not grouped."""
    asked = training(Mode.COMPILED, inference=True)
    assert settled(load_network("resnext50_32x4d"), asked, on_cpu=False).software.layout is (
        Layout.CHANNELS_LAST
    )
    assert settled(described(GROUPED), asked, on_cpu=False).software.layout is Layout.CHANNELS_FIRST
