"""Views and copies: strides against PyTorch's own, and what layers make of them."""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import record
from estimator.layers.library import LAYERS
from estimator.layers.strides import channels_last, contiguous, explicit, permuted, preserved, viewed
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Layout, Software

if TYPE_CHECKING:
    from estimator.layers.base import Layer

IMAGE = (2, 8, 6, 6)


def shapes_of(total: int, rng: random.Random) -> tuple[int, ...]:
    """Return a random way to write ``total`` as a shape."""
    shape = []
    while total > 1:
        factor = rng.choice([d for d in range(1, total + 1) if total % d == 0])
        shape.append(factor)
        total //= factor
        if len(shape) > 4:
            shape.append(total)
            break
    return tuple(shape) or (1,)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(40))
def test_views_are_those_pytorch_can_make(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = random.Random(seed)  # noqa: S311 - cases, not secrets
    for _ in range(20):
        shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 4)))
        dims = rng.sample(range(len(shape)), len(shape))
        theirs = torch.empty(shape, device="meta").permute(dims)
        new_shape, strides = permuted(shape, None, dims)
        assert tuple(theirs.shape) == new_shape
        assert (strides is None) == theirs.is_contiguous()
        wanted = shapes_of(prod(shape), rng)
        free, view = viewed(new_shape, strides, wanted)
        try:
            expected = theirs.view(wanted)
        except RuntimeError:
            assert not free
            continue
        assert free
        big = [d for d, size in enumerate(wanted) if size > 1]
        assert [explicit(wanted, view)[d] for d in big] == [expected.stride()[d] for d in big]
        result = torch.relu(theirs)
        kept = [d for d, size in enumerate(new_shape) if size > 1]
        ours = explicit(new_shape, preserved(new_shape, strides))
        assert [ours[d] for d in kept] == [result.stride()[d] for d in kept]


def make(name: str, **arguments: object) -> Layer:
    cls: Any = LAYERS.get(name)
    layer: Layer = cls(**arguments)
    return layer


def kernels(
    name: str,
    *signatures: Signature,
    layout: Layout = Layout.CHANNELS_FIRST,
    policy: str = "fp32",
    **arguments: object,
) -> list[str]:
    setting = Setting(policy=POLICIES.get(policy), software=Software(layout=layout))
    return [k.name for k in record(make(name, **arguments), signatures, setting).kernels]


def image(*, last: bool = False, shape: tuple[int, ...] = IMAGE) -> Signature:
    strides = channels_last(shape) if last else None
    return Signature(shape, DType.FP32, requires_grad=False, strides=strides)


def test_flatten_copies_channels_last_images_only() -> None:
    assert kernels("Flatten", image()) == []
    assert kernels("Flatten", image(last=True)) == ["contiguous"]
    assert kernels("Flatten", image(last=True, shape=(2, 8, 1, 1))) == []


def test_permuting_to_channels_last_memory_is_free_for_what_follows() -> None:
    """ConvNeXt: the layer norm after a permutation copies, unless the image lies channels-last already."""
    setting = Setting(policy=POLICIES.get("fp32"), software=Software())
    for last, copies in ((False, ["contiguous"]), (True, [])):
        left = record(make("Permute", dims=(0, 2, 3, 1)), (image(last=last),), setting)
        out = left.outputs[0]
        signature = Signature(out.shape, out.dtype, requires_grad=False, strides=out.strides)
        assert [k for k in kernels("LayerNorm", signature) if k == "contiguous"] == copies


def test_convolution_takes_and_gives_the_layout_of_the_software() -> None:
    setting = Setting(policy=POLICIES.get("amp"), software=Software(layout=Layout.CHANNELS_LAST))
    conv = make("Conv2d", out_channels=4, kernel_size=1, bias=False)
    left = record(conv, (image(last=True),), setting)
    assert left.outputs[0].strides == channels_last((2, 4, 6, 6))
    assert "layout_transpose" not in [k.name for k in left.kernels]
    assert "contiguous" not in [k.name for k in left.kernels]
    first = kernels("Conv2d", image(), policy="amp", out_channels=4, kernel_size=1, bias=False)
    assert first.count("layout_transpose") == 4  # input and output, forward and weight gradient


def test_group_norm_and_shuffles_leave_channels_last() -> None:
    assert "contiguous" in kernels("GroupNorm", image(last=True), num_groups=2)
    assert "contiguous" not in kernels("GroupNorm", image(), num_groups=2)
    assert kernels("PixelShuffle", image(), upscale_factor=2) == ["contiguous"]
    assert kernels("ChannelShuffle", image(last=True), groups=2) == ["contiguous"]


@pytest.mark.parametrize("name", ["ReLU", "BatchNorm2d", "Dropout", "GELU"])
def test_element_wise_layers_keep_the_layout(name: str) -> None:
    setting = Setting(policy=POLICIES.get("fp32"), software=Software())
    assert record(make(name), (image(last=True),), setting).outputs[0].strides == channels_last(IMAGE)


def test_channels_last_strides() -> None:
    assert channels_last((2, 8, 6, 6)) == (288, 1, 48, 8)
    assert contiguous((2, 8, 6, 6)) == (288, 36, 6, 1)
    assert channels_last((2, 8, 1, 1)) is None  # the same place in memory either way
