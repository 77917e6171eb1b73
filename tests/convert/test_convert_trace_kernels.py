# ruff: noqa: ANN401 - torch is optional, so its modules and tensors have no types
# mypy: disable-error-code="misc"
"""Two ways to the kernels of one module: our layers, and PyTorch's own operators on the meta device."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.convert.entries import Given
from estimator.convert.torch_module import convert
from estimator.convert.torch_trace import weightless
from estimator.convert.trace_kernels import trace_kernels
from estimator.convert.write import plain_network, yaml_text
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.precision import POLICIES
from estimator.software import AttentionKernel, Layout, Software
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from estimator.workload.kernel import Kernel

pytestmark = pytest.mark.torch
torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
F: Any = torch.nn.functional
Module: Any = nn.Module
BATCH = 4


class Basic(Module):
    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width_in, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride > 1 or width_in != width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class Inverted(Module):
    """Depth-wise convolution, squeeze and excitation, in-place activations."""

    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 4 * width
        self.up, self.bn1 = nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.deep, self.bn2 = nn.Conv2d(wide, wide, 3, 1, 1, groups=wide, bias=False), nn.BatchNorm2d(wide)
        self.squeeze, self.excite = nn.Conv2d(wide, 8, 1), nn.Conv2d(8, wide, 1)
        self.down, self.bn3 = nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        y = F.relu6(self.bn1(self.up(x)))
        y = F.hardswish(self.bn2(self.deep(y)), inplace=True)
        z = torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        return x + self.bn3(self.down(y * z))


class Block(Module):
    def __init__(self, width: int = 32, heads: int = 4, *, causal: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: Any) -> Any:
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .reshape(b, t, 3, self.heads, d // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class LanguageModel(Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(100, 32), nn.Parameter(torch.zeros(16, 32))
        self.blocks = nn.Sequential(Block(causal=True), Block(causal=True))
        self.norm, self.head, self.drop = nn.LayerNorm(32), nn.Linear(32, 100, bias=False), nn.Dropout(0.1)

    def forward(self, x: Any) -> Any:
        return self.head(self.norm(self.blocks(self.drop(self.tokens(x) + self.places))))


class VisionTransformer(Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, 32, 8, 8), nn.Parameter(torch.zeros(1, 1, 32))
        self.places = nn.Parameter(torch.zeros(1, 17, 32))
        self.blocks, self.norm, self.head = (
            nn.Sequential(Block(), Block()),
            nn.LayerNorm(32),
            nn.Linear(32, 10),
        )

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class Warp(Module):
    """An image looked at through a grid that a convolution makes (a spatial transformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.points, self.features, self.head = nn.Conv2d(3, 2, 3, 4, 1), nn.Conv2d(3, 8, 3), nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        grid = torch.tanh(self.points(x)).permute(0, 2, 3, 1)
        y = F.grid_sample(self.features(x), grid, padding_mode="border", align_corners=False)
        return self.head(y.mean((2, 3)))


class CondConv2d(Module):
    """Stands in for timm's module of this name, under whose name it is known as one layer."""

    __module__, __qualname__ = "timm.layers.cond_conv2d", "CondConv2d"

    def __init__(self, channels: int, groups: int, experts: int = 3) -> None:
        super().__init__()
        self.out_channels, self.kernel_size, self.num_experts = 16, (3, 3), experts
        self.stride, self.padding, self.dilation, self.groups = (2, 2), (1, 1), (1, 1), groups
        self.dynamic_padding = False
        self.weight = nn.Parameter(torch.empty(experts, 16 * channels // groups * 9))
        self.bias = nn.Parameter(torch.empty(experts, 16))

    def forward(self, x: Any, routing: Any) -> Any:
        b, c, h, w = x.shape
        weight = torch.matmul(routing, self.weight).view(b * 16, c // self.groups, 3, 3)
        bias = torch.matmul(routing, self.bias).view(b * 16)
        y = F.conv2d(x.reshape(1, b * c, h, w), weight, bias, 2, 1, 1, self.groups * b)
        return y.permute([1, 0, 2, 3]).view(b, 16, y.shape[-2], y.shape[-1])


class Conditional(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.routing = nn.Conv2d(3, 16, 3), nn.Linear(16, 3)
        self.dense, self.deep, self.head = CondConv2d(16, 1), CondConv2d(16, 16), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.first(x))
        routing = torch.sigmoid(self.routing(x.mean((2, 3))))
        y = self.deep(F.relu(self.dense(x, routing)), routing)
        return self.head(y.mean((2, 3)))


def resnet() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3,
        2, 1),
        Basic(64, 64, 1), Basic(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip


def vgg() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3,
        padding=1),
        nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(7), nn.Flatten(), nn.Linear(128 * 49, 64),
        nn.ReLU(inplace=True),
        nn.Dropout(), nn.Linear(64, 10),
    )  # fmt: skip


def mobilenet() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(inplace=True), Inverted(16),
        nn.AvgPool2d(2), Inverted(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


IMAGE = Given("image", (3, 64, 64))
SMALL = Given("image", (3, 32, 32))
CASES: dict[str, tuple[Callable[[], Any], Given]] = {
    "resnet": (resnet, IMAGE), "vgg": (vgg, SMALL), "mobilenet": (mobilenet, SMALL),
    "vision transformer": (VisionTransformer, SMALL), "language model": (LanguageModel, Given("x", (16,),
    "int64")), "warp": (Warp, SMALL), "conditional": (Conditional, SMALL),
}  # fmt: skip

Sums = dict[tuple[str, str], tuple[int, int, int]]


def sums(kernels: Iterable[Kernel]) -> Sums:
    """Return launches, FLOPs and bytes by class, forward and backward apart; all copies are one class."""
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for kernel in kernels:
        op = Op.COPY if kernel.op is Op.TRANSPOSE else kernel.op
        key = (op.value, "forward" if kernel.phase is Phase.FORWARD else "backward")
        for n, value in enumerate((kernel.launches, kernel.flops, kernel.bytes)):
            found[key][n] += value
    return {key: (a, b, c) for key, (a, b, c) in found.items()}


def both(name: str, precision: str, software: Software) -> tuple[Sums, Sums]:
    """Return the sums of our lowering of the converted module, and of the traced one."""
    build, given = CASES[name]
    with weightless():
        module = build()
    policy = POLICIES.get(precision)
    text = yaml_text(plain_network(convert(module, [given], name=name)))
    work = lower(
        read_network(read_document(text, "net.yaml")),
        Training(batch=BATCH, precision=policy, software=software),
    )
    inputs = [torch.empty((BATCH, *given.shape), dtype=getattr(torch, given.dtype), device="meta")]
    ours = sums(kernel for layer in work.layers for kernel in layer.kernels)
    return ours, sums(trace_kernels(module, inputs, policy, software))


FIRST = Software(layout=Layout.CHANNELS_FIRST)


@pytest.mark.parametrize("precision", ["fp32", "amp", "amp-bf16"])
@pytest.mark.parametrize("name", ["resnet", "vgg", "mobilenet", "conditional"])
def test_convolutional_networks_have_exactly_the_traced_kernels(name: str, precision: str) -> None:
    ours, traced = both(name, precision, FIRST)
    assert ours == traced


@pytest.mark.parametrize("precision", ["fp32", "amp"])
@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_channels_last_differs_by_the_tiny_kernels_of_one_pooling_alone(name: str, precision: str) -> None:
    ours, traced = both(name, precision, Software(layout=Layout.CHANNELS_LAST))
    for key in ours.keys() | traced.keys():
        one, two = ours.get(key, (0, 0, 0)), traced.get(key, (0, 0, 0))
        assert one[1] == two[1]
        assert two[0] - one[0] in ((0, 1) if key[1] == "backward" else (0,)), key
        assert two[2] - one[2] <= 2 * BATCH * 128 * 4 * 2, key


def test_grid_sample_has_exactly_the_traced_kernels() -> None:
    ours, traced = both("warp", "fp32", FIRST)
    assert ours == traced


@pytest.mark.parametrize("attention", list(AttentionKernel))
@pytest.mark.parametrize("precision", ["fp32", "amp"])
@pytest.mark.parametrize("name", ["vision transformer", "language model"])
def test_transformers_differ_in_backward_copies_alone(
    name: str, precision: str, attention: AttentionKernel
) -> None:
    """How a gradient lies in memory is not followed by our layers: copies backward are near, not equal."""
    ours, traced = both(name, precision, Software(attention=attention))
    copies = ("copy", "backward")
    assert {k: v for k, v in ours.items() if k != copies} == {k: v for k, v in traced.items() if k != copies}
    total = sum(size for _, _, size in traced.values())
    assert abs(ours.get(copies, (0, 0, 0))[2] - traced.get(copies, (0, 0, 0))[2]) < 0.03 * total


def test_products_are_counted_by_the_closed_form() -> None:
    module = nn.Linear(8, 16)
    traced = sums(trace_kernels(module, [torch.empty(4, 8, device="meta")], POLICIES.get("fp32")))
    assert traced["gemm", "forward"] == (1, 2 * 4 * 8 * 16, 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16))
    assert traced["gemm", "backward"] == (
        1,
        2 * 4 * 8 * 16,
        4 * (4 * 8 + 4 * 16 + 8 * 16),
    )  # no dgrad: an input


def test_autocast_casts_weights_once_and_keeps_norms_in_full_precision() -> None:
    module = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    kernels = trace_kernels(module, [torch.empty(4, 8, device="meta")], POLICIES.get("amp"))
    by_op = [(k.op, k.compute.value) for k in kernels if k.phase is Phase.FORWARD]
    assert by_op.count((Op.LAYER_NORM, "fp32")) == 1
    assert by_op.count((Op.GEMM, "fp16")) == 1
    casts = [k for k in kernels if k.name == "cast" and k.phase is Phase.FORWARD]
    assert sorted(k.elements for k in casts) == [8, 32, 32, 64]  # bias, input, norm's input, weight
