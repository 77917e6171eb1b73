"""Linear layers and convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.layers.shapes import spread
from estimator.measure.modules.registry import Function, Weighted, builds, native

if TYPE_CHECKING:
    from torch import nn

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call


def channels(dims: int) -> Torch:
    """Return what tells the channels of an input with ``dims`` dimensions behind them."""
    return lambda call: call.shape[-dims - 1]


native("Linear", in_features=lambda call: call.shape[-1])
native(
    "Bilinear",
    in1_features=lambda call: call.inputs[0].shape[-1],
    in2_features=lambda call: call.inputs[1].shape[-1],
)
for _dims in (1, 2, 3):
    native(f"Conv{_dims}d", f"ConvTranspose{_dims}d", in_channels=channels(_dims))

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@builds(*(f"FunctionalConv{dims}d" for dims in _CONVOLUTIONS))
def functional(call: Call) -> nn.Module:
    """Build a convolution whose weight is an input."""
    convolve = _CONVOLUTIONS[int(call.layer.type_name[-2])]
    given = call.arguments()
    return Function(lambda x, weight, bias=None: convolve(x, weight, bias, **given))


def sample_by_sample(x: Torch, weight: Torch, bias: Torch | None, *, groups: int, **given: Any) -> Torch:  # noqa: ANN401 - of conv2d
    """Convolve each sample with weights of its own, as parts of the channels of one grouped convolution."""
    samples, channels, *size = x.shape
    x = x.reshape(1, samples * channels, *size)
    out = F.conv2d(x, weight, bias, groups=groups * samples, **given)
    return out.view(samples, -1, *out.shape[2:])


class _Conditional(Weighted):
    """A convolution whose weights are a mixture for each sample: one grouped convolution runs all of them."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        given = call.arguments()
        kernel = spread(given["kernel_size"], 2, "kernel_size")
        self._shape = (given["out_channels"], call.shape[1] // given["groups"], *kernel)
        self._given = {name: given[name] for name in ("stride", "padding", "dilation")}
        self._groups = given["groups"]

    def forward(self, x: Torch, routing: Torch) -> Torch:
        """Mix, then convolve."""
        out_channels, *rest = self._shape
        weight = (routing @ self.held("weight")).view(x.shape[0] * out_channels, *rest)
        experts = self.held("bias")
        bias = None if experts is None else (routing @ experts).view(-1)
        return sample_by_sample(x, weight, bias, groups=self._groups, **self._given)


@builds("CondConv2d")
def conditional(call: Call) -> nn.Module:
    """Build a convolution with weights of each sample."""
    return _Conditional(call)
