"""Translators of whole modules that are one layer, though their code says it in many calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.torch_products import short, unless
from estimator.convert.torch_translate import translates

if TYPE_CHECKING:
    from estimator.convert.entries import Source
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
    """Translate: weights of each sample; TensorFlow's 'same' padding is a layer before it."""
    x, routing = (t.source(given) for given in call.args)
    module = call.module
    height, width = t.shape(call.args[0])[2:]
    args = {"out_channels": module.out_channels, "kernel_size": short(module.kernel_size)} | unless(
        {k: getattr(module, k) for k in ("stride", "dilation", "groups")}, stride=1, dilation=1, groups=1
    )
    if module.dynamic_padding:
        x = _padded_as_tensorflow(t, call, x, (height, width))
    else:
        args |= unless({"padding": module.padding}, padding=0)
    if module.bias is None:
        args["bias"] = False
    t.leaf(call, "CondConv2d", args | {"num_experts": module.num_experts}, [x, routing])


def _padded_as_tensorflow(t: Translation, call: Call, x: Source, size: tuple[int, int]) -> Source:
    """Append the padding that makes an output of ceil(size / stride), odd totals behind; maybe none."""
    module = call.module
    padding: list[int] = []
    for s, k, st, d in zip(size, module.kernel_size, module.stride, module.dilation, strict=True):
        total = max((-(-s // st) - 1) * st + (k - 1) * d + 1 - s, 0)
        padding[:0] = [total // 2, total - total // 2]
    return t.step(call, "Pad", {"padding": padding}, [x]) if any(padding) else x
