"""Translators of whole modules that are one layer, though their code says it in many calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.torch_translate import translates

if TYPE_CHECKING:
    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation

LEAVES = frozenset({"timm.layers.drop.DropPath", "torchvision.ops.stochastic_depth.StochasticDepth"})


@translates(*LEAVES)
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
