"""Translators of element-wise calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_trace import Ref
from estimator.convert.torch_translate import TRANSLATORS, arguments, translates

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation

# Function names (of the torch namespace, of functional and of Tensor, in place or not) by layer type.
_ACTIVATIONS = {
    "relu": "ReLU", "relu6": "ReLU6", "silu": "SiLU", "mish": "Mish", "sigmoid": "Sigmoid", "tanh": "Tanh",
    "hardswish": "Hardswish", "hardsigmoid": "Hardsigmoid", "softplus": "Softplus", "gelu": "GELU",
    "elu": "ELU", "leaky_relu": "LeakyReLU", "selu": "SELU", "celu": "CELU", "softsign": "Softsign",
    "logsigmoid": "LogSigmoid", "hardtanh": "Hardtanh",
}  # fmt: skip
_IN_PLACE = frozenset(_ACTIVATIONS.values()) - {
    "Sigmoid",
    "Tanh",
    "GELU",
    "Softplus",
    "Softsign",
    "LogSigmoid",
}
_UNARY = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "neg": "Neg", "abs": "Abs", "sin": "Sin",
    "cos": "Cos", "square": "Square", "reciprocal": "Reciprocal", "erf": "Erf",
 "sign": "Sign",
    "floor": "Floor", "round": "Round",
}  # fmt: skip


def names(verb: str) -> tuple[str, ...]:
    """Return all the names under which torch has an element-wise function."""
    return (
        f"torch.{verb}", f"torch.{verb}_", f"torch.Tensor.{verb}", f"torch.Tensor.{verb}_",
        f"torch.nn.functional.{verb}", f"torch.nn.functional.{verb}_", f"torch._C._nn.{verb}",
        f"torch._C._nn.{verb}_", f"torch.special.{verb}",
    )  # fmt: skip


def _first(call: Call) -> Ref:
    found: Ref = call.args[0] if call.args else next(iter(call.kwargs.values()))
    return found


def _activation(kind: str) -> Callable[[Translation, Call], None]:
    def translator(t: Translation, call: Call) -> None:
        args: dict[str, Any] = {"inplace": True} if call.in_place and kind in _IN_PLACE else {}
        if kind == "Hardtanh":
            a = arguments(call, "input min_val max_val")
            if (a.get("min_val", -1.0), a.get("max_val", 1.0)) == (0.0, 6.0):
                t.emit(call, "ReLU6", args, [_first(call)])
                return
        if kind == "GELU" and call.kwargs.get("approximate", "none") != "none":
            args["approximate"] = call.kwargs["approximate"]
        t.emit(call, kind, args, [_first(call)])

    return translator


def _unary(kind: str) -> Callable[[Translation, Call], None]:
    def translator(t: Translation, call: Call) -> None:
        t.unary(call, kind, _first(call))

    return translator


for _verb, _kind in _ACTIVATIONS.items():
    for _name in names(_verb):
        TRANSLATORS[_name] = _activation(_kind)
for _verb, _kind in _UNARY.items():
    for _name in names(_verb):
        TRANSLATORS[_name] = _unary(_kind)
for _name in ("torch.Tensor.__neg__", "torch.Tensor.__abs__", "torch.negative", "torch.Tensor.negative"):
    TRANSLATORS[_name] = _unary("Neg")


@translates(*names("prelu"))
def prelu(t: Translation, call: Call) -> None:
    """Translate: a slope that trains, one or one a channel."""
    a = arguments(call, "input weight")
    count = t.shape(a["weight"])[0]
    t.emit(call, "PReLU", {"num_parameters": count} if count > 1 else {}, [a["input"]], [a["weight"]])


@translates(*names("softmax"), *names("log_softmax"))
def softmax(t: Translation, call: Call) -> None:
    """Shares along a dimension."""
    a = arguments(call, "input dim")
    rank = len(t.shape(a["input"]))
    dim = a.get("dim")
    kind = "LogSoftmax" if "log_softmax" in call.function else "Softmax"
    dim = rank - 1 if dim is None else dim % rank
    t.emit(call, kind, {"dim": -1 if dim == rank - 1 else dim}, [a["input"]])


@translates(*names("glu"))
def glu(t: Translation, call: Call) -> None:
    """One half gates the other."""
    a = arguments(call, "input dim")
    dim = a.get("dim", -1)
    t.emit(call, "GLU", {} if dim == -1 else {"dim": dim}, [a["input"]])


def _binary(kind: str, verbs: tuple[str, ...], *, swapped: bool = False) -> None:
    def translator(t: Translation, call: Call) -> None:
        x = call.args[0]
        y = call.args[1] if len(call.args) > 1 else call.kwargs.get("other")
        if swapped:
            x, y = y, x
        t.binary(call, kind, x, y)

    for verb in verbs:
        TRANSLATORS[verb] = translator


def _verbs(verb: str, *more: str) -> tuple[str, ...]:
    return (f"torch.{verb}", f"torch.Tensor.{verb}", f"torch.Tensor.{verb}_",
            f"torch.Tensor.__{verb}__", f"torch.Tensor.__i{verb}__", *more)  # fmt: skip


_binary("Add", _verbs("add", "torch.Tensor.__radd__"))
_binary("Sub", _verbs("sub", "torch.subtract", "torch.Tensor.subtract"))
_binary("Mul", _verbs("mul", "torch.Tensor.__rmul__", "torch.multiply", "torch.Tensor.multiply"))
_binary("Div", _verbs("div", "torch.true_divide", "torch.Tensor.__truediv__", "torch.Tensor.__itruediv__",
                      "torch.divide"))  # fmt: skip
_binary("Pow", _verbs("pow"))
_binary("Maximum", ("torch.maximum", "torch.Tensor.maximum"))
_binary("Minimum", ("torch.minimum", "torch.Tensor.minimum"))
_binary("Sub", ("torch.Tensor.__rsub__", "torch.rsub"), swapped=True)
_binary("Div", ("torch.Tensor.__rdiv__", "torch.Tensor.__rtruediv__"), swapped=True)
_binary("Pow", ("torch.Tensor.__rpow__",), swapped=True)
for _verb in ("eq", "ne", "lt", "le", "gt", "ge"):
    _binary("Compare", _verbs(_verb))
_binary("Atan2", ("torch.atan2", "torch.Tensor.atan2"))


@translates(*names("clamp"), *names("clamp_min"), *names("clamp_max"), *names("clip"))
def clamp(t: Translation, call: Call) -> None:
    """Translate: the bounds decide nothing but are worth saying."""
    order = {"clamp_min": "input min", "clamp_max": "input max"}.get(
        call.function.rsplit(".", 1)[-1].rstrip("_"), "input min max"
    )
    a = arguments(call, order)
    bounds = {k: a[k] for k in ("min", "max") if isinstance(a.get(k), int | float)}
    t.emit(call, "Clamp", bounds or {"min": 0.0}, [a["input"]])


@translates("torch.addcmul", "torch.Tensor.addcmul", "torch.Tensor.addcmul_")
def addcmul(t: Translation, call: Call) -> None:
    """One kernel: input + value * tensor1 * tensor2."""
    a = arguments(call, "input tensor1 tensor2")
    t.emit(call, "Addcmul", {}, [a["input"], a["tensor1"], a["tensor2"]])


@translates("torch.Tensor.masked_fill", "torch.masked_fill", "torch.Tensor.masked_fill_")
def masked_fill(t: Translation, call: Call) -> None:
    """Translate: a number where the mask is set."""
    a = arguments(call, "input mask value")
    t.emit(call, "MaskedFill", {}, [a["input"], a["mask"]])


@translates("torch.where", "torch.Tensor.where")
def where(t: Translation, call: Call) -> None:
    """One of two values by a mask."""
    refs = [a for a in call.args if isinstance(a, Ref)]
    t.emit(call, "Where", {}, refs)


@translates("torch.Tensor.zero_", "torch.Tensor.fill_")
def fill(t: Translation, call: Call) -> None:
    """Translate: a number written over a tensor: one pass."""
    t.emit(call, "MulScalar", {"value": 0.0}, [call.args[0]])
