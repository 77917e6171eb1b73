"""StyleGAN's layers out of PyTorch's own functions; the fused CUDA kernels of its code are not in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.measure.modules.products import sample_by_sample
from estimator.measure.modules.registry import Weighted, builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_SMALL = 1e-8
_SLOPE = 0.2


def _filter(x: Torch, taps: int) -> Torch:
    """Return a filter of ones for each channel; its values change no time."""
    return torch.ones((x.shape[1], 1, taps, taps), dtype=x.dtype, device=x.device)


class ModulatedConv2d(Weighted):
    """A convolution whose weight's input channels are scaled by each sample's styles."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self._demodulate, self._gain = bool(given["demodulate"]), bool(given["input_gain"])
        self._given = {name: given[name] for name in ("stride", "padding", "dilation")}
        self._groups = int(given["groups"])

    def forward(self, x: Torch, styles: Torch) -> Torch:
        """Make the weights, then convolve sample by sample."""
        weight = self.held("weight")
        if self._demodulate:
            weight = weight * (weight.square().mean((1, 2, 3), keepdim=True)).rsqrt()
            styles = styles * styles.square().mean().rsqrt()
        each = weight[None] * styles[:, None, :, None, None]
        if self._demodulate:
            each = each * (each.square().sum((2, 3, 4)) + _SMALL).rsqrt()[:, :, None, None, None]
        if self._gain:
            each = each * torch.ones((1, 1, 1, 1, 1), dtype=each.dtype, device=each.device)
        weight = each.flatten(0, 1).to(x.dtype)
        return sample_by_sample(x, weight, None, groups=self._groups, **self._given)


class FilteredLeakyReLU(Weighted):
    """Bias, up-sampling filter, leaky ReLU, down-sampling filter."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self._up, self._down = (int(given["up"]), int(given["up_taps"])), (given["down"], given["down_taps"])
        self._between = (given["out_size"] - 1) * given["down"] + given["down_taps"]

    def forward(self, x: Torch) -> Torch:
        """Filter, activate, filter."""
        x = x + self.held("bias")[:, None, None]
        (up, up_taps), (down, down_taps) = self._up, self._down
        x = F.conv_transpose2d(x, _filter(x, up_taps), stride=up, groups=x.shape[1])
        more = [self._between - size for size in (x.shape[3], x.shape[2])]
        x = F.pad(x, [m // 2 if side == 0 else m - m // 2 for m in more for side in (0, 1)])
        x = F.leaky_relu(x, _SLOPE)
        return F.conv2d(x, _filter(x, down_taps), stride=down, groups=x.shape[1])


class FIRFilter2d(Weighted):
    """Every channel filtered with the same points."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        self._taps = int(given["taps"])
        self._given = {"stride": given["down"], "padding": given["padding"]}

    def forward(self, x: Torch) -> Torch:
        """Filter."""
        return F.conv2d(x, _filter(x, self._taps), groups=x.shape[1], **self._given)


class BiasLeakyReLU(Weighted):
    """Bias and leaky ReLU."""

    def forward(self, x: Torch) -> Torch:
        """Add and activate."""
        return F.leaky_relu(x + self.held("bias").view(-1, *(1,) * (x.dim() - 2)), _SLOPE)


class MinibatchStdDev(Weighted):
    """One more channel: the mean deviation within groups of samples."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self._group = int(call.arguments()["group_size"])

    def forward(self, x: Torch) -> Torch:
        """Measure the spread and put it beside the channels."""
        group = min(self._group, x.shape[0])
        y = x.reshape(group, -1, *x.shape[1:])
        y = (y - y.mean(0)).square().mean(0)
        y = (y + _SMALL).sqrt().mean((1, 2, 3)).view(-1, 1, 1, 1)
        return torch.cat([x, y.repeat(group, 1, *x.shape[2:])], 1)


BUILT = [
    builds(kind.__name__)(kind)
    for kind in (ModulatedConv2d, FilteredLeakyReLU, FIRFilter2d, BiasLeakyReLU, MinibatchStdDev)
]
