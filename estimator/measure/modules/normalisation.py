"""Normalisation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.measure.modules.products import channels
from estimator.measure.modules.registry import builds, functions, native

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

for _dims in (1, 2, 3):
    native(f"BatchNorm{_dims}d", num_features=lambda call: call.shape[1])
    native(f"InstanceNorm{_dims}d", num_features=channels(_dims))
native("GroupNorm", num_channels=lambda call: call.shape[1])
native("LocalResponseNorm")


@builds("SyncBatchNorm")
def on_one_device(call: Call) -> nn.Module:
    """Build a plain batch norm: there is nobody to exchange sums with."""
    kind = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(call.shape)]
    return kind(**(call.arguments() | {"num_features": call.shape[1]}))


def _row(call: Call) -> Torch:
    given = call.arguments()["normalized_shape"]
    return call.shape[-1] if given is None else given


native("LayerNorm", "RMSNorm", normalized_shape=_row)


class FrozenBatchNorm(nn.Module):  # type: ignore[misc]
    """Channels scaled and shifted by constants, as torchvision.ops.FrozenBatchNorm2d."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("mean", 0.0), ("variance", 1.0)):
            self.register_buffer(name, torch.full((width,), value))

    def forward(self, x: Torch) -> Torch:
        """Work the constants out, multiply and add."""
        w, b, mean, var = (t.reshape(-1, 1, 1) for t in (self.weight, self.bias, self.mean, self.variance))
        scale = w * (var + self.eps).rsqrt()
        return x * scale + (b - mean * scale)


@builds("FrozenBatchNorm2d")
def frozen(call: Call) -> nn.Module:
    """Build constants instead of statistics."""
    return FrozenBatchNorm(call.shape[-3], call.arguments()["eps"])


functions(
    FunctionalBatchNorm=lambda x, weight, bias=None: F.batch_norm(x, None, None, weight, bias, training=True)
)
