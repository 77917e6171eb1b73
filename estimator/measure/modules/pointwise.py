"""Element-wise functions and layers of several inputs."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import torch

from estimator.measure.modules.registry import Function, builds, functions

if TYPE_CHECKING:
    from torch import nn

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

functions(
    Abs=torch.abs, Cos=torch.cos, Erf=torch.erf, Exp=torch.exp, Floor=torch.floor, Log=torch.log,
    Neg=torch.neg, Reciprocal=torch.reciprocal, Round=torch.round, Rsqrt=torch.rsqrt, Sign=torch.sign,
    Sin=torch.sin, Sqrt=torch.sqrt, Square=torch.square, MatMul=torch.matmul,
)  # fmt: skip


def _folded(function: Torch) -> Torch:
    return lambda *inputs: reduce(function, inputs)


functions(
    Add=_folded(torch.add), Sub=_folded(torch.sub), Mul=_folded(torch.mul), Div=_folded(torch.div),
    Maximum=_folded(torch.maximum), Minimum=_folded(torch.minimum),
)  # fmt: skip


def truth(mask: Torch) -> Torch:
    """Return a mask as one of truth values."""
    return mask if mask.dtype is torch.bool else mask != 0


functions(Where=lambda condition, a, b: torch.where(truth(condition), a, b))


@builds("Pow")
def power(call: Call) -> nn.Module:
    """Build a fixed power."""
    exponent = call.arguments()["exponent"]
    return Function(lambda x: torch.pow(x, exponent))


@builds("Clamp")
def clamp(call: Call) -> nn.Module:
    """Build bounds."""
    given = call.arguments()
    if given["min"] is None and given["max"] is None:
        return Function(torch.clone)
    return Function(lambda x: torch.clamp(x, given["min"], given["max"]))


@builds("AddScalar")
def add_scalar(call: Call) -> nn.Module:
    """Build X plus a number."""
    value = call.arguments()["value"]
    return Function(lambda x: x + value)


@builds("MulScalar")
def mul_scalar(call: Call) -> nn.Module:
    """Build x times a number."""
    value = call.arguments()["value"]
    return Function(lambda x: x * value)


@builds("Concat")
def concat(call: Call) -> nn.Module:
    """Build inputs behind each other."""
    dim = call.arguments()["dim"]
    return Function(lambda *inputs: inputs[0] if len(inputs) == 1 else torch.cat(inputs, dim))


@builds("Stack")
def stack(call: Call) -> nn.Module:
    """Build inputs along a new dimension."""
    dim = call.arguments()["dim"]
    return Function(lambda *inputs: torch.stack(inputs, dim))
