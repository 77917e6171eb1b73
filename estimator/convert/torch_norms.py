"""Translators of normalisations and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_translate import UntranslatableError, arguments, translates

if TYPE_CHECKING:
    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation

_DIMS = {2: 1, 3: 1, 4: 2, 5: 3}


@translates("torch.nn.functional.batch_norm")
def batch_norm(t: Translation, call: Call) -> None:
    """Statistics over the batch; one that is frozen (no training) is scaling with constants."""
    a = arguments(call, "input running_mean running_var weight bias training momentum eps")
    x, weight, bias = a["input"], a.get("weight"), a.get("bias")
    args: dict[str, Any] = {}
    if weight is None and bias is None:
        args["affine"] = False
    if a.get("running_mean") is None:
        args["track_running_stats"] = False
    if not a.get("training", False):
        raise UntranslatableError("batch norm with frozen statistics")
    dims = _DIMS.get(len(t.shape(x)))
    if dims is None:
        raise UntranslatableError("batch norm of this rank")
    if weight is not None and t.parameter(weight) is None:
        t.emit(call, "FunctionalBatchNorm", {}, [x, weight] + ([bias] if bias is not None else []))
        return
    t.emit(call, f"BatchNorm{dims}d", args, [x], [weight, bias])


@translates("torch.nn.functional.instance_norm")
def instance_norm(t: Translation, call: Call) -> None:
    """Statistics of each sample and channel."""
    a = arguments(call, "input running_mean running_var weight bias use_input_stats momentum eps")
    dims = _DIMS[len(t.shape(a["input"]))]
    args = {"affine": True} if a.get("weight") is not None else {}
    t.emit(call, f"InstanceNorm{dims}d", args, [a["input"]], [a.get("weight"), a.get("bias")])


@translates("torch.nn.functional.layer_norm")
def layer_norm(t: Translation, call: Call) -> None:
    """Over the last dimensions."""
    a = arguments(call, "input normalized_shape weight bias eps")
    shape = tuple(a["normalized_shape"])
    args: dict[str, Any] = {} if len(shape) == 1 else {"normalized_shape": list(shape)}
    if a.get("weight") is None:
        args["elementwise_affine"] = False
    elif a.get("bias") is None:
        args["bias"] = False
    t.emit(call, "LayerNorm", args, [a["input"]], [a.get("weight"), a.get("bias")])


@translates("torch.nn.functional.rms_norm", "torch.rms_norm")
def rms_norm(t: Translation, call: Call) -> None:
    """Over the last dimensions, without the mean."""
    a = arguments(call, "input normalized_shape weight eps")
    shape = tuple(a["normalized_shape"])
    args: dict[str, Any] = {} if len(shape) == 1 else {"normalized_shape": list(shape)}
    if a.get("weight") is None:
        args["elementwise_affine"] = False
    t.emit(call, "RMSNorm", args, [a["input"]], [a.get("weight")])


@translates("torch.nn.functional.group_norm", "torch.group_norm")
def group_norm(t: Translation, call: Call) -> None:
    """Over groups of channels."""
    a = arguments(call, "input num_groups weight bias eps")
    args: dict[str, Any] = {"num_groups": a["num_groups"]}
    if a.get("weight") is None:
        args["affine"] = False
    elif a.get("bias") is None:
        args["bias"] = False
    t.emit(call, "GroupNorm", args, [a["input"]], [a.get("weight"), a.get("bias")])


@translates("torch.nn.functional.local_response_norm")
def local_response_norm(t: Translation, call: Call) -> None:
    """Over neighbouring channels."""
    a = arguments(call, "input size alpha beta k")
    t.emit(call, "LocalResponseNorm", {"size": a["size"]}, [a["input"]])


@translates(
    *(
        f"torch.nn.functional.{name}"
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
    ),
    "torch.dropout",
)
def dropout(t: Translation, call: Call) -> None:
    """Nothing at p = 0 or outside training."""
    a = arguments(call, "input p training inplace" if "nn" in call.function else "input p train")
    p = a.get("p", 0.5)
    if not p or not a.get("training", a.get("train", True)):
        t.same(call, a["input"])
        return
    kind = "Dropout" + (call.function[-2:] if call.function[-2:] in ("1d", "2d", "3d") else "")
    kind = "AlphaDropout" if "alpha" in call.function else kind
    t.emit(call, kind, {} if p == 0.5 else {"p": p}, [a["input"]])  # noqa: PLR2004 - torch's default
