"""StyleGAN3's layers against the rule they are made by, written out once more from the paper."""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING

import pytest

from estimator.catalog.networks import load_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYERS, CRITICAL, MARGIN = 14, 2, 10
WIDTHS = {"stylegan3_t": (32768, 512), "stylegan3_r": (65536, 1024)}  # channel_base, channel_max


def expected(image: int, base: int, most: int) -> Iterator[tuple[int, int]]:
    """Give channels and size of each layer: cutoffs and stopbands are geometric series."""
    for index in range(LAYERS):
        share = min(index / (LAYERS - CRITICAL), 1)
        cutoff = 2 * (image / 2 / 2) ** share
        first = 2**2.1
        stopband = first * (image / 2 * 2**0.3 / first) ** share
        rate = 2 ** ceil(log2(min(2 * stopband, image)))
        size = image if index == LAYERS - 1 else rate + 2 * MARGIN
        yield round(min(base / 2 / cutoff, most)), size


@pytest.mark.parametrize("image", [128, 256, 512, 1024])
@pytest.mark.parametrize("name", WIDTHS)
def test_layers_have_the_channels_and_sizes_of_the_rule(name: str, image: int) -> None:
    work = lower(load_network(name, [f"image={image}"]), Training(batch=1, training=False))
    shapes = [
        layer.output_shape
        for layer in work.layers
        if layer.kind == "FilteredLeakyReLU" and layer.path.startswith("layers.")
    ]
    assert shapes == [(1, channels, size, size) for channels, size in expected(image, *WIDTHS[name])]
