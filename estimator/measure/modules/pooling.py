"""Pooling and dropout layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.measure.modules.registry import Function, builds, native

if TYPE_CHECKING:
    from torch import nn

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

for _dims in (1, 2, 3):
    native(f"AvgPool{_dims}d", f"MaxPool{_dims}d", f"LPPool{_dims}d", f"Dropout{_dims}d")
    native(f"AdaptiveAvgPool{_dims}d", f"AdaptiveMaxPool{_dims}d")
native("Dropout", "AlphaDropout", "FeatureAlphaDropout")


@builds("StochasticDepth", "DropPath")
def stochastic_depth(call: Call) -> nn.Module:
    """Build whole samples of a branch dropped, as torchvision.ops.StochasticDepth."""
    p, rows = call.arguments()["p"], call.arguments()["mode"] == "row"

    def run(x: Torch) -> Torch:
        if p == 0.0:
            return x
        shape = [x.shape[0] if rows else 1] + [1] * (x.dim() - 1)
        noise = x.new_empty(shape).bernoulli_(1.0 - p)
        if p < 1.0:
            noise.div_(1.0 - p)
        return x * noise

    return Function(run)
