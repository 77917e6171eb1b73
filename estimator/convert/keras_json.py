"""Keras models saved as JSON (``model.to_json()``) to entries: plain reading, no Keras needed.

Keras has its channels last; here they come first, which changes no count. Shapes are followed, because
'same' padding of a strided window depends on them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted, Entry, Given, Source
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable

Config = dict[str, Any]
Shape = tuple[int, ...]


@dataclass(slots=True)
class _Tensor:
    """Where a value comes from, and its shape without the batch, channels first."""

    source: Source
    shape: Shape


@dataclass(slots=True)
class _State:
    inputs: list[Given] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    count: int = 0

    def add(self, kind: str, args: Config, inputs: list[_Tensor], shape: Shape, path: str) -> _Tensor:
        """Append an entry; references count inputs first, of which there are ``count``."""
        self.entries.append(Entry(type=kind, args=args, inputs=tuple(t.source for t in inputs), path=path))
        return _Tensor(Source(self.count + len(self.entries) - 1), shape)


HANDLERS: dict[str, Callable[[_State, Config, list[_Tensor]], _Tensor]] = {}


def handles(
    *names: str,
) -> Callable[
    [Callable[[_State, Config, list[_Tensor]], _Tensor]], Callable[[_State, Config, list[_Tensor]], _Tensor]
]:
    """Register a Keras class."""

    def add(
        function: Callable[[_State, Config, list[_Tensor]], _Tensor],
    ) -> Callable[[_State, Config, list[_Tensor]], _Tensor]:
        for name in names:
            HANDLERS[name] = function
        return function

    return add


def keras_network(text: str, name: str) -> Converted:
    """Return the network of a Keras JSON. Raises InputError naming the layer that cannot be converted."""
    try:
        model = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    kind = model.get("class_name") if isinstance(model, dict) else None
    if kind not in ("Sequential", "Functional", "Model"):
        raise InputError(f"{name}: no Keras model in it", hint="save one with model.to_json()")
    layers = model["config"]["layers"] if isinstance(model["config"], dict) else model["config"]
    state = _State()
    is_row = kind == "Sequential"
    outputs = [_sequential(state, layers)] if is_row else _functional(state, model["config"])
    ends_in_softmax = bool(state.entries) and state.entries[-1].type == "Softmax"
    loss = "CrossEntropyLoss" if ends_in_softmax else None
    return Converted(
        name=name, inputs=state.inputs, entries=state.entries, outputs=[t.source for t in outputs], loss=loss
    )


def _sequential(state: _State, layers: list[Config]) -> _Tensor:
    first = layers[0]["config"]
    shape = first.get("batch_input_shape") or first.get("batch_shape")
    if shape is None:
        raise InputError("the first layer has no input shape", hint="build the model before saving it")
    state.count = 1
    value = _input(state, "input", shape, layers[0])
    for layer in layers:
        if layer["class_name"] != "InputLayer":
            value = _layer(state, layer, [value])
    return value


def _functional(state: _State, config: Config) -> list[_Tensor]:
    values: dict[str, _Tensor] = {}
    layers = config["layers"]
    state.count = sum(layer["class_name"] == "InputLayer" for layer in layers)
    for layer in layers:
        name = layer.get("name") or layer["config"]["name"]
        if layer["class_name"] == "InputLayer":
            own = layer["config"]
            values[name] = _input(state, name, own.get("batch_input_shape") or own.get("batch_shape"), layer)
            continue
        calls = layer["inbound_nodes"]
        if len(calls) > 1:
            raise InputError(
                f"layer {name!r} is called {len(calls)} times: shared layers are not converted yet"
            )
        values[name] = _layer(state, layer, [values[n] for n in _inbound(calls[0])])
    named = config["output_layers"]
    return [values[out[0]] for out in (named if isinstance(named[0], list) else [named])]


def _inbound(call: Any) -> list[str]:  # noqa: ANN401 - Keras 2 writes lists, Keras 3 mappings
    """Return the names of the layers that feed a call."""
    if isinstance(call, dict):
        found: list[str] = []

        def look(thing: Any) -> None:  # noqa: ANN401 - nested JSON
            if isinstance(thing, dict) and thing.get("class_name") == "__keras_tensor__":
                found.append(thing["config"]["keras_history"][0])
            elif isinstance(thing, dict):
                for value in thing.values():
                    look(value)
            elif isinstance(thing, list):
                for value in thing:
                    look(value)

        look(call.get("args", []))
        return found
    return [item[0] for item in call]


def _input(state: _State, name: str, shape: list[int | None], layer: Config) -> _Tensor:
    sizes = shape[1:]
    if any(size is None for size in sizes):
        raise InputError(f"input {name!r} has no fixed size: {sizes}")
    whole = tuple(int(size) for size in sizes if size is not None)
    ours = (whole[-1], *whole[:-1]) if len(whole) > 1 else whole
    if len(whole) == 2:  # noqa: PLR2004 - a sequence (length, features) keeps its order
        ours = whole
    next_is_table = layer["class_name"] == "Embedding" or layer["config"].get("dtype") in ("int32", "int64")
    state.inputs.append(Given(name, ours, "int64" if next_is_table else "float32"))
    return _Tensor(Source(len(state.inputs) - 1), ours)


def _layer(state: _State, layer: Config, inputs: list[_Tensor]) -> _Tensor:
    kind = layer["class_name"]
    if kind not in HANDLERS:
        hint = suggestion(kind, HANDLERS) or "describe it in YAML as Custom"
        raise InputError(f"Keras layer {kind!r} ({layer['config'].get('name')}) is not known", hint=hint)
    value = HANDLERS[kind](state, layer["config"], inputs)
    activation = layer["config"].get("activation")
    if kind in ("LSTM", "GRU", "SimpleRNN", "Activation"):
        return value
    return _activated(state, activation, value, layer["config"].get("name", ""))


_ACTIVATIONS = {
    "relu": "ReLU", "relu6": "ReLU6", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "ELU", "selu": "SELU",
    "gelu": "GELU", "swish": "SiLU", "silu": "SiLU", "softplus": "Softplus", "softsign": "Softsign",
    "hard_sigmoid": "Hardsigmoid", "exponential": "Exp", "leaky_relu": "LeakyReLU", "mish": "Mish",
    "softmax": "Softmax",
}  # fmt: skip


def _activated(state: _State, name: object, value: _Tensor, path: str) -> _Tensor:
    if name in (None, "linear"):
        return value
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise InputError(f"layer {path!r}: unknown activation {name!r}")
    args = {"dim": 1} if name == "softmax" and len(value.shape) > 1 else {}
    return state.add(_ACTIVATIONS[name], args, [value], value.shape, path)


def _pair(value: Any, dims: int) -> Shape:  # noqa: ANN401 - one number or a list
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _brief(values: Shape) -> int | list[int]:
    return values[0] if all(v == values[0] for v in values) else list(values)


def _window(
    state: _State, config: Config, x: _Tensor, *, kernel: Shape, stride: Shape, dilation: Shape
) -> tuple[_Tensor, int | list[int], Shape]:
    """Return the input (padded first where it must be more behind), the padding, and the output's size."""
    size = x.shape[1:]
    if config.get("padding") != "same":
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
    if all(t % 2 == 0 for t in total):
        return x, _brief(tuple(t // 2 for t in total)), out
    widths = [w for t in reversed(total) for w in (t // 2, t - t // 2)]
    shape = (x.shape[0], *(s + t for s, t in zip(size, total, strict=True)))
    return state.add("Pad", {"padding": widths}, [x], shape, config.get("name", "")), 0, out


def _convolved(
    state: _State, config: Config, x: _Tensor, *, dims: int, width: int, groups: int, bias: bool
) -> _Tensor:
    kernel, stride = _pair(config["kernel_size"], dims), _pair(config.get("strides", 1), dims)
    dilation = _pair(config.get("dilation_rate", 1), dims)
    x, padding, size = _window(state, config, x, kernel=kernel, stride=stride, dilation=dilation)
    args: Config = {"out_channels": width, "kernel_size": _brief(kernel)}
    args |= {"stride": _brief(stride)} if set(stride) != {1} else {}
    args |= {"padding": padding} if padding else {}
    args |= {"dilation": _brief(dilation)} if set(dilation) != {1} else {}
    args |= {"groups": groups} if groups != 1 else {}
    args |= {} if bias else {"bias": False}
    return state.add(f"Conv{dims}d", args, [x], (width, *size), config.get("name", ""))


@handles("Conv2D", "Convolution2D")
def _conv2d(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return _convolved(
        state, config, inputs[0], dims=2, width=config["filters"], groups=config.get("groups", 1),
        bias=config.get("use_bias", True),
    )  # fmt: skip


@handles("DepthwiseConv2D")
def _depthwise(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    channels = inputs[0].shape[0]
    return _convolved(
        state, config, inputs[0], dims=2, width=channels * config.get("depth_multiplier", 1), groups=channels,
        bias=config.get("use_bias", True),
    )  # fmt: skip


@handles("SeparableConv2D")
def _separable(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    channels = inputs[0].shape[0]
    deep = _convolved(
        state, config, inputs[0], dims=2, width=channels * config.get("depth_multiplier", 1), groups=channels,
        bias=False,
    )  # fmt: skip
    args: Config = {"out_channels": config["filters"], "kernel_size": 1}
    args |= {} if config.get("use_bias", True) else {"bias": False}
    return state.add("Conv2d", args, [deep], (config["filters"], *deep.shape[1:]), config.get("name", ""))


@handles("Dense")
def _dense(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    args: Config = {"out_features": config["units"]} | (
        {} if config.get("use_bias", True) else {"bias": False}
    )
    return state.add("Linear", args, [x], (*x.shape[:-1], config["units"]), config.get("name", ""))


@handles("Flatten")
def _flatten(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    count = 1
    for size in x.shape:
        count *= size
    return state.add("Flatten", {}, [x], (count,), config.get("name", ""))


def _pool(state: _State, config: Config, inputs: list[_Tensor], kind: str) -> _Tensor:
    kernel = _pair(config["pool_size"], 2)
    stride = _pair(config.get("strides") or config["pool_size"], 2)
    x, padding, size = _window(state, config, inputs[0], kernel=kernel, stride=stride, dilation=(1, 1))
    args: Config = {"kernel_size": _brief(kernel)} | ({"stride": _brief(stride)} if stride != kernel else {})
    args |= {"padding": padding} if padding else {}
    return state.add(kind, args, [x], (x.shape[0], *size), config.get("name", ""))


@handles("MaxPooling2D")
def _max_pool(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return _pool(state, config, inputs, "MaxPool2d")


@handles("AveragePooling2D")
def _average_pool(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return _pool(state, config, inputs, "AvgPool2d")


@handles("GlobalMaxPooling2D")
def _global_max(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    return state.add("Max", {"dim": [2, 3]}, [x], x.shape[:1], config.get("name", ""))


@handles("GlobalAveragePooling2D")
def _global(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    return state.add("Mean", {"dim": [2, 3]}, [x], x.shape[:1], config.get("name", ""))


@handles("GlobalAveragePooling1D")
def _global_1d(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    return state.add("Mean", {"dim": 1}, [x], x.shape[-1:], config.get("name", ""))


@handles("Dropout")
def _dropout(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return state.add("Dropout", {"p": config["rate"]}, inputs, inputs[0].shape, config.get("name", ""))


@handles("SpatialDropout2D")
def _spatial_dropout(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return state.add("Dropout2d", {"p": config["rate"]}, inputs, inputs[0].shape, config.get("name", ""))


@handles("BatchNormalization")
def _batch_norm(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    kind = {1: "BatchNorm1d", 3: "BatchNorm2d", 4: "BatchNorm3d"}.get(len(x.shape))
    if kind is None:
        raise InputError(f"layer {config.get('name')!r}: batch norm of {list(x.shape)} is not converted")
    affine = config.get("scale", True) or config.get("center", True)
    return state.add(kind, {} if affine else {"affine": False}, [x], x.shape, config.get("name", ""))


@handles("LayerNormalization")
def _layer_norm(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return state.add("LayerNorm", {}, inputs, inputs[0].shape, config.get("name", ""))


@handles("Activation")
def _activation(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return _activated(state, config["activation"], inputs[0], config.get("name", ""))


@handles("ReLU")
def _relu(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    kind = "ReLU6" if config.get("max_value") == 6 else "ReLU"  # noqa: PLR2004 - the name says it
    return state.add(kind, {}, inputs, inputs[0].shape, config.get("name", ""))


@handles("LeakyReLU")
def _leaky_relu(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return state.add("LeakyReLU", {}, inputs, inputs[0].shape, config.get("name", ""))


@handles("Softmax")
def _softmax(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return _activated(state, "softmax", inputs[0], config.get("name", ""))


def _joined(kind: str) -> Callable[[_State, Config, list[_Tensor]], _Tensor]:
    def handler(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
        return state.add(kind, {}, inputs, inputs[0].shape, config.get("name", ""))

    return handler


for _name, _kind in {"Add": "Add", "Multiply": "Mul", "Subtract": "Sub", "Maximum": "Maximum"}.items():
    HANDLERS[_name] = _joined(_kind)


@handles("Concatenate")
def _concatenate(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    first = inputs[0].shape
    axis = config.get("axis", -1)
    if axis not in (-1, len(first)):
        raise InputError(f"layer {config.get('name')!r}: concatenation along axis {axis} is not converted")
    place = len(first) - 1 if len(first) == 2 else 0  # noqa: PLR2004 - sequences have their features last
    total = sum(t.shape[place] for t in inputs)
    shape = (*first[:place], total, *first[place + 1 :])
    return state.add("Concat", {"dim": place + 1} if place else {}, inputs, shape, config.get("name", ""))


@handles("ZeroPadding2D")
def _zero_padding(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    padding = config["padding"]
    rows = ((padding, padding),) * 2 if isinstance(padding, int) else [_pair(p, 2) for p in padding]
    (top, bottom), (left, right) = rows
    shape = (x.shape[0], x.shape[1] + top + bottom, x.shape[2] + left + right)
    return state.add("Pad", {"padding": [left, right, top, bottom]}, [x], shape, config.get("name", ""))


@handles("UpSampling2D")
def _up_sampling(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    factor = _pair(config.get("size", 2), 2)
    args: Config = {"scale_factor": _brief(factor)}
    if config.get("interpolation") == "bilinear":
        args["mode"] = "bilinear"
    shape = (x.shape[0], x.shape[1] * factor[0], x.shape[2] * factor[1])
    return state.add("Upsample", args, [x], shape, config.get("name", ""))


@handles("Rescaling")
def _rescaling(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    return state.add(
        "MulScalar", {"value": float(config["scale"])}, inputs, inputs[0].shape, config.get("name", "")
    )


@handles("Reshape")
def _reshape(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    target = tuple(config["target_shape"])
    if len(target) > 1:
        target = (target[-1], *target[:-1]) if len(target) > 2 else target  # noqa: PLR2004 - channels first
    return state.add("Reshape", {"shape": list(target)}, inputs, target, config.get("name", ""))


@handles("Embedding")
def _embedding(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
    (x,) = inputs
    args = {"num_embeddings": config["input_dim"], "embedding_dim": config["output_dim"]}
    return state.add("Embedding", args, [x], (*x.shape, config["output_dim"]), config.get("name", ""))


def _recurrent(kind: str) -> Callable[[_State, Config, list[_Tensor]], _Tensor]:
    def handler(state: _State, config: Config, inputs: list[_Tensor]) -> _Tensor:
        (x,) = inputs
        units, path = config["units"], config.get("name", "")
        args: Config = {"hidden_size": units} | ({} if config.get("use_bias", True) else {"bias": False})
        value = state.add(kind, args, [x], (*x.shape[:-1], units), path)
        if config.get("return_sequences"):
            return value
        return state.add("Select", {"dim": 1, "index": -1}, [value], (units,), path)

    return handler


for _name, _kind in {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}.items():
    HANDLERS[_name] = _recurrent(_kind)
