"""Losses, with a random target where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from estimator.measure.modules.registry import builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_BY_CLASS = ("CrossEntropyLoss", "NLLLoss")
_BY_VALUE = ("BCELoss", "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "SmoothL1Loss")


class Loss(nn.Module):  # type: ignore[misc]
    """A loss of torch.nn; a target of its own is drawn once, outside the measured time."""

    def __init__(self, loss: nn.Module, target: Torch) -> None:
        super().__init__()
        self.loss = loss
        self.register_buffer("target", target, persistent=False)

    def forward(self, x: Torch, target: Torch = None) -> Torch:
        """Compare."""
        target = self.target if target is None else target
        if target.is_floating_point():
            target = target.to(x.dtype)
        return self.loss(x, target)


@builds(*_BY_CLASS)
def by_class(call: Call) -> nn.Module:
    """Build classes along the second dimension, or the only one."""
    shape = call.shape
    dim = 1 if len(shape) > 1 else 0
    target = (
        torch.randint(0, shape[dim], (*shape[:dim], *shape[dim + 1 :])) if len(call.inputs) == 1 else None
    )
    return Loss(getattr(nn, call.layer.type_name)(**call.arguments()), target)


@builds(*_BY_VALUE)
def by_value(call: Call) -> nn.Module:
    """Build values of the input's shape."""
    target = torch.rand(call.shape) if len(call.inputs) == 1 else None
    return Loss(getattr(nn, call.layer.type_name)(**call.arguments()), target)
