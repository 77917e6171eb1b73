"""Translators of reductions and pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_products import short, unless
from estimator.convert.torch_translate import TRANSLATORS, UntranslatableError, arguments, translates

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation


def reduction(kind: str) -> Callable[[Translation, Call], None]:
    """Return the translator of a reduction over dimensions."""

    def translator(t: Translation, call: Call) -> None:
        a = arguments(call, "input dim keepdim")
        x, dim = a["input"], a.get("dim", a.get("axis"))
        if len(call.args) > 2 and all(isinstance(v, int) and not isinstance(v, bool) for v in call.args[1:]):  # noqa: PLR2004
            dim = call.args[1:]
        rank = len(t.shape(x))
        args: dict[str, Any] = {}
        if isinstance(dim, tuple):
            args["dim"] = sorted(d % rank for d in dim) if len(dim) > 1 else dim[0] % rank
        elif dim is not None:
            args["dim"] = dim % rank
        else:
            args["dim"] = list(range(rank))
        if a.get("keepdim") is True:
            args["keepdim"] = True
        t.emit(call, kind, args, [x])

    return translator


_KINDS = {"mean": "Mean", "sum": "Sum", "var": "Var", "std": "Std", "amax": "Max", "amin": "Min"}
for _verb, _kind in _KINDS.items():
    for _name in (f"torch.{_verb}", f"torch.Tensor.{_verb}"):
        TRANSLATORS[_name] = reduction(_kind)


@translates("torch.max", "torch.Tensor.max", "torch.min", "torch.Tensor.min")
def extreme(t: Translation, call: Call) -> None:
    """Translate: the largest along a dimension with its place; of two tensors, the larger."""
    from estimator.convert.torch_trace import Ref

    a = arguments(call, "input dim keepdim")
    if isinstance(a.get("dim", a.get("other")), Ref):
        t.binary(
            call, "Maximum" if "max" in call.function else "Minimum", a["input"], a.get("dim", a.get("other"))
        )
        return
    reduction("Max" if "max" in call.function else "Min")(t, call)


@translates("torch.var_mean", "torch.std_mean")
def var_mean(t: Translation, call: Call) -> None:
    """Both statistics; one pass in truth, two here."""
    reduction("Var")(t, call)
    args = t.entries[-1].args
    t.hold_one(call, 1, t.step(call, "Mean", dict(args), [t.source(call.args[0])]))


@translates("torch.nn.functional.normalize")
def normalize(t: Translation, call: Call) -> None:
    """Divide by the norm along a dimension."""
    a = arguments(call, "input p dim eps")
    rank = len(t.shape(a["input"]))
    dim = a.get("dim", 1)
    if not isinstance(dim, int):
        raise UntranslatableError("a norm over several dimensions")
    t.emit(call, "Normalize", {"dim": -1 if dim % rank == rank - 1 else dim % rank}, [a["input"]])


@translates(
    "torch.Tensor.norm",
    "torch.norm",
    "torch.functional.norm",
    "torch.linalg.norm",
    "torch.linalg.vector_norm",
)
def norm(t: Translation, call: Call) -> None:
    """Translate: the norm along dimensions."""
    a = arguments(call, "input p dim keepdim")
    if a.get("dim") is None:
        raise UntranslatableError("a norm of everything")
    rank = len(t.shape(a["input"]))
    dims = a["dim"] if isinstance(a["dim"], tuple) else (a["dim"],)
    dims = tuple(d % rank for d in dims)
    args: dict[str, Any] = {"dim": list(dims) if len(dims) > 1 else dims[0]}
    t.emit(call, "Norm", args | ({"keepdim": True} if a.get("keepdim") else {}), [a["input"]])


@translates("torch.Tensor.cumsum", "torch.cumsum")
def cumsum(t: Translation, call: Call) -> None:
    """Translate: running sums."""
    t.emit(call, "Cumsum", {"dim": arguments(call, "input dim")["dim"]}, [call.args[0]])


def _pool(name: str, dims: int) -> tuple[str, ...]:
    verb = f"{name}_pool{dims}d"
    return (f"torch.nn.functional.{verb}", f"torch.{verb}", f"torch._C._nn.{verb}",
            f"torch.nn.functional.{verb}_with_indices")  # fmt: skip


def _max_pool(dims: int) -> Callable[[Translation, Call], None]:
    def translator(t: Translation, call: Call) -> None:
        a = arguments(call, "input kernel_size stride padding dilation ceil_mode return_indices")
        args = unless(
            {k: a.get(k) for k in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")},
            padding=0, dilation=1, ceil_mode=False,
        )  # fmt: skip
        if args.get("stride") == args["kernel_size"] or args.get("stride") == []:
            args.pop("stride", None)
        t.emit(call, f"MaxPool{dims}d", args, [a["input"]])

    return translator


def _avg_pool(dims: int) -> Callable[[Translation, Call], None]:
    def translator(t: Translation, call: Call) -> None:
        a = arguments(call, "input kernel_size stride padding ceil_mode count_include_pad divisor_override")
        args = unless(
            {k: a.get(k) for k in ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")},
            padding=0, ceil_mode=False, count_include_pad=True,
        )  # fmt: skip
        if args.get("stride") == args["kernel_size"] or args.get("stride") == []:
            args.pop("stride", None)
        t.emit(call, f"AvgPool{dims}d", args, [a["input"]])

    return translator


def _adaptive(kind: str) -> Callable[[Translation, Call], None]:
    def translator(t: Translation, call: Call) -> None:
        a = arguments(call, "input output_size")
        size = short(
            tuple(a["output_size"]) if isinstance(a["output_size"], tuple | list) else a["output_size"]
        )
        if isinstance(size, list) and None in size:
            raise UntranslatableError("an adaptive size that keeps a dimension")
        t.emit(call, kind, {"output_size": size}, [a["input"]])

    return translator


for _dims in (1, 2, 3):
    for _name in _pool("max", _dims):
        TRANSLATORS[_name] = _max_pool(_dims)
    for _name in _pool("avg", _dims):
        TRANSLATORS[_name] = _avg_pool(_dims)
    for _name in _pool("adaptive_avg", _dims):
        TRANSLATORS[_name] = _adaptive(f"AdaptiveAvgPool{_dims}d")
    for _name in _pool("adaptive_max", _dims):
        TRANSLATORS[_name] = _adaptive(f"AdaptiveMaxPool{_dims}d")
