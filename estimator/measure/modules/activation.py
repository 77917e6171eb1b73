"""Activations, softmaxes and gated units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.measure.modules.registry import Function, builds, native

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

native(
    "CELU", "ELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
)  # fmt: skip


def gelu_new(x: Torch) -> Torch:
    """GELU as GPT-2's published code writes it."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def quick_gelu(x: Torch) -> Torch:
    """GELU as CLIP's published code writes it."""
    return x * torch.sigmoid(1.702 * x)


@builds("GELU")
def gelu(call: Call) -> nn.Module:
    """Build GELU, exact, by PyTorch's tanh, or written out."""
    approximate = call.arguments()["approximate"]
    if approximate == "new":
        return Function(gelu_new)
    if approximate == "quick":
        return Function(quick_gelu)
    return nn.GELU(approximate=approximate)


GATES: dict[str, Callable[[Any], Any]] = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu}
_GATED = {"SwiGLU": ("silu", True), "GEGLU": ("gelu", False), "ReGLU": ("relu", False)}


@builds(*_GATED)
def gated(call: Call) -> nn.Module:
    """Build an activation of one half (or of the first input) times the other."""
    gate, activates_first = _GATED[call.layer.type_name]
    dim = call.arguments()["dim"]

    def run(x: Torch, *others: Torch) -> Torch:
        if others:
            return GATES[gate](x) * others[0]
        a, b = x.chunk(2, dim)
        return GATES[gate](a) * b if activates_first else a * GATES[gate](b)

    return Function(run)
