"""Linear layers and convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.measure.modules.registry import Function, builds, native

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
