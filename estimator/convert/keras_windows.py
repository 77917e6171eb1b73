"""Keras's layers with windows: convolutions, pooling, padding and resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.keras_state import (
    brief,
    channels_first,
    channels_last,
    handles,
)
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.keras_state import (
        Args,
        Handler,
        Shape,
        State,
        Tensor,
    )
    from estimator.convert.settings import Settings


def _window(
    state: State, config: Settings, x: Tensor, *, kernel: Shape, stride: Shape, dilation: Shape
) -> tuple[Tensor, int | list[int], Shape]:
    """Return the input (padded first where it must be more behind), the padding, and the output's size."""
    size = x.shape[1:]
    kind = config.word("padding", "valid")
    if kind not in ("valid", "same", "causal"):
        raise config.wrong("padding", "padding that can be described (valid, same, causal)")
    if kind == "valid":
        out = tuple(
            (s - d * (k - 1) - 1) // st + 1
            for s, k, st, d in zip(size, kernel, stride, dilation, strict=True)
        )
        return x, 0, out
    out = tuple(-(-s // st) for s, st in zip(size, stride, strict=True))
    total = tuple(
        max((o - 1) * st + d * (k - 1) + 1 - s, 0)
        for o, s, k, st, d in zip(out, size, kernel, stride, dilation, strict=True)
    )
    if kind == "same" and all(t % 2 == 0 for t in total):
        return x, brief(tuple(t // 2 for t in total)), out
    before = total if kind == "causal" else tuple(t // 2 for t in total)
    widths = [w for b, t in zip(reversed(before), reversed(total), strict=True) for w in (b, t - b)]
    shape = (x.shape[0], *(s + t for s, t in zip(size, total, strict=True)))
    return state.add("Pad", {"padding": widths}, [x], shape), 0, out


def _convolved(
    state: State, config: Settings, x: Tensor, *, dims: int, width: int, groups: int = 1, bias: bool
) -> Tensor:
    kernel, stride = config.sizes("kernel_size", dims), config.sizes("strides", dims, 1)
    dilation = config.sizes("dilation_rate", dims, 1)
    x, padding, size = _window(state, config, x, kernel=kernel, stride=stride, dilation=dilation)
    args: Args = {"out_channels": width, "kernel_size": brief(kernel)}
    args |= {"stride": brief(stride)} if set(stride) != {1} else {}
    args |= {"padding": padding} if padding else {}
    args |= {"dilation": brief(dilation)} if set(dilation) != {1} else {}
    args |= {"groups": groups} if groups != 1 else {}
    args |= {} if bias else {"bias": False}
    return state.add(f"Conv{dims}d", args, [x], (width, *size))


def _bias(config: Settings) -> bool:
    return config.flag("use_bias", default=True)


def _convolution(dims: int) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        x = channels_first(state, config, inputs[0], dims + 1)
        y = _convolved(
            state, config, x, dims=dims, width=config.count("filters", "nb_filter"),
            groups=config.count("groups", default=1), bias=_bias(config),
        )  # fmt: skip
        return channels_last(state, y)

    return handler


def _depthwise(dims: int) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        x = channels_first(state, config, inputs[0], dims + 1)
        width = x.shape[0] * config.count("depth_multiplier", default=1)
        y = _convolved(state, config, x, dims=dims, width=width, groups=x.shape[0], bias=_bias(config))
        return channels_last(state, y)

    return handler


def _separable(dims: int) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        x = channels_first(state, config, inputs[0], dims + 1)
        deep = x.shape[0] * config.count("depth_multiplier", default=1)
        y = _convolved(state, config, x, dims=dims, width=deep, groups=x.shape[0], bias=False)
        width = config.count("filters")
        args: Args = {"out_channels": width, "kernel_size": 1} | ({} if _bias(config) else {"bias": False})
        return channels_last(state, state.add(f"Conv{dims}d", args, [y], (width, *y.shape[1:])))

    return handler


def _transposed(dims: int) -> Handler:
    """Return the handler of a convolution whose output is ``stride`` times its input ('same')."""

    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        x = channels_first(state, config, inputs[0], dims + 1)
        kernel, stride = config.sizes("kernel_size", dims), config.sizes("strides", dims, 1)
        if config.get("output_padding") is not None or set(config.sizes("dilation_rate", dims, 1)) != {1}:
            raise InputError(f"{config.where}: output_padding and dilation_rate are not converted")
        width = config.count("filters")
        args: Args = {"out_channels": width, "kernel_size": brief(kernel)}
        args |= {"stride": brief(stride)} if set(stride) != {1} else {}
        size = tuple((s - 1) * st + k for s, st, k in zip(x.shape[1:], stride, kernel, strict=True))
        if config.word("padding", "valid") == "same":
            size = tuple(s * st for s, st in zip(x.shape[1:], stride, strict=True))
            padding = tuple(max(0, -(-(k - st) // 2)) for k, st in zip(kernel, stride, strict=True))
            more = tuple(st - k + 2 * p for k, st, p in zip(kernel, stride, padding, strict=True))
            args |= {"padding": brief(padding)} if any(padding) else {}
            args |= {"output_padding": brief(more)} if any(more) else {}
        elif any(k < st for k, st in zip(kernel, stride, strict=True)):
            more = tuple(max(0, st - k) for k, st in zip(kernel, stride, strict=True))
            args["output_padding"] = brief(more)
            size = tuple(s + m for s, m in zip(size, more, strict=True))
        args |= {} if _bias(config) else {"bias": False}
        return channels_last(state, state.add(f"ConvTranspose{dims}d", args, [x], (width, *size)))

    return handler


def _pool(dims: int, kind: str) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        kernel = config.sizes("pool_size", dims, 2)
        stride = config.sizes("strides", dims, kernel)
        x = channels_first(state, config, inputs[0], dims + 1)
        x, padding, size = _window(state, config, x, kernel=kernel, stride=stride, dilation=(1,) * dims)
        args: Args = {"kernel_size": brief(kernel)} | ({"stride": brief(stride)} if stride != kernel else {})
        args |= {"padding": padding} if padding else {}
        return channels_last(state, state.add(f"{kind}Pool{dims}d", args, [x], (x.shape[0], *size)))

    return handler


def _global(dims: int, kind: str) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        (x,) = inputs
        if len(x.shape) != dims + 1:
            raise InputError(f"{config.where}: needs an input of {dims + 1} dimensions, got {list(x.shape)}")
        kept = config.flag("keepdims", default=False)
        places: Any = 1 if dims == 1 else list(range(2, dims + 2))
        args: Args = {"dim": places} | ({"keepdim": True} if kept else {})
        if dims == 1:
            shape = (1, x.shape[1]) if kept else x.shape[1:]
        else:
            shape = (x.shape[0], *(1,) * dims) if kept else x.shape[:1]
        return state.add(kind, args, [x], shape)

    return handler


def _is_pair(pair: tuple[Any, ...]) -> bool:
    """Tell whether these are the rows before and behind."""
    before_and_behind = 2
    return len(pair) == before_and_behind and all(isinstance(w, int) and w >= 0 for w in pair)


def _padding(dims: int) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        x = channels_first(state, config, inputs[0], dims + 1)
        given = config.get("padding", 1)
        rows = given if isinstance(given, list) and dims > 1 else [given] * dims
        pairs = [(r, r) if isinstance(r, int) else tuple(r) if isinstance(r, list) else () for r in rows]
        if len(pairs) != dims or not all(_is_pair(pair) for pair in pairs):
            raise config.wrong("padding", "number of rows, or pair of them for each dimension")
        shape = (x.shape[0], *(s + sum(p) for s, p in zip(x.shape[1:], pairs, strict=True)))
        widths = [w for pair in reversed(pairs) for w in pair]
        return channels_last(state, state.add("Pad", {"padding": widths}, [x], shape))

    return handler


def _up_sampling(dims: int) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        factor = config.sizes("size", dims, 2)
        mode = config.word("interpolation", "nearest")
        if mode not in ("nearest", "bilinear", "bicubic"):
            raise config.wrong("interpolation", "mode that can be described (nearest, bilinear, bicubic)")
        x = channels_first(state, config, inputs[0], dims + 1)
        args: Args = {"scale_factor": brief(factor)} | ({} if mode == "nearest" else {"mode": mode})
        shape = (x.shape[0], *(s * f for s, f in zip(x.shape[1:], factor, strict=True)))
        return channels_last(state, state.add("Upsample", args, [x], shape))

    return handler


for _dims in (1, 2, 3):
    handles(f"Conv{_dims}D", f"Convolution{_dims}D")(_convolution(_dims))
    handles(f"DepthwiseConv{_dims}D")(_depthwise(_dims))
    handles(f"SeparableConv{_dims}D")(_separable(_dims))
    handles(f"Conv{_dims}DTranspose")(_transposed(_dims))
    handles(f"MaxPooling{_dims}D")(_pool(_dims, "Max"))
    handles(f"AveragePooling{_dims}D")(_pool(_dims, "Avg"))
    handles(f"GlobalMaxPooling{_dims}D")(_global(_dims, "Max"))
    handles(f"GlobalAveragePooling{_dims}D")(_global(_dims, "Mean"))
    handles(f"ZeroPadding{_dims}D")(_padding(_dims))
    handles(f"UpSampling{_dims}D")(_up_sampling(_dims))
