"""Translators of whole modules that are one layer, though their code says it in many calls."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.convert.torch_trace import Ref
from estimator.convert.torch_translate import translates

if TYPE_CHECKING:
    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation

_CONDITIONAL = "timm.layers.cond_conv2d.CondConv2d"
_PATHS = frozenset({"timm.layers.drop.DropPath", "torchvision.ops.stochastic_depth.StochasticDepth"})
LEAVES = _PATHS | {_CONDITIONAL}


@translates(*_PATHS)
def stochastic_depth(t: Translation, call: Call) -> None:
    """Nothing at p = 0 or outside training."""
    p = float(getattr(call.module, "drop_prob", None) or getattr(call.module, "p", 0.0) or 0.0)
    if not p or not call.module.training:
        t.same(call, call.args[0])
        return
    args = {"p": round(p, 6)}
    if getattr(call.module, "mode", "row") != "row":
        args["mode"] = call.module.mode
    kind = "DropPath" if "timm" in call.function else "StochasticDepth"
    t.emit(call, kind, args, [call.args[0]])


@translates(_CONDITIONAL)
def conditional_convolution(t: Translation, call: Call) -> None:
    """Translate: weights mixed for each sample, then a convolution with a group for each of them."""
    x, routing = call.args
    module = call.module
    experts, size = module.weight.shape
    weight = t.step_parameter(call, f"{call.path}.weight", [experts, size])
    mixed = t.step(call, "MatMul", {}, [t.source(routing), weight])
    bias = []
    if module.bias is not None:
        table = t.step_parameter(call, f"{call.path}.bias", list(module.bias.shape))
        bias = [t.step(call, "MatMul", {}, [t.source(routing), table])]
    t.custom(
        call, "a convolution with weights of each sample", inputs=[t.source(x), mixed, *bias],
        flops=2 * prod(t.shape(Ref(call.outputs[0]))[2:]) * size,
    )  # fmt: skip
