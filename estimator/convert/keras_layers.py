"""Keras's layers on single values: dense, norms, activations, joins and shapes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.convert.keras_state import (
    activated,
    features_place,
    handles,
    ours,
)
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.keras_state import (
        Args,
        Handler,
        State,
        Tensor,
    )
    from estimator.convert.settings import Settings


@handles("Dense")
def dense(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    """Append a product; of an image it is one of each pixel's channels."""
    (x,) = inputs
    units = config.count("units")
    bias: Args = {} if config.flag("use_bias", default=True) else {"bias": False}
    if not features_place(x.shape) and len(x.shape) > 1:
        args = {"out_channels": units, "kernel_size": 1} | bias
        return state.add(f"Conv{len(x.shape) - 1}d", args, [x], (units, *x.shape[1:]))
    return state.add("Linear", {"out_features": units} | bias, [x], (*x.shape[:-1], units))


@handles("Flatten")
def _flatten(state: State, _: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    return state.add("Flatten", {}, [x], (prod(x.shape),))


@handles("InputSpec", "ActivityRegularization", "Masking")
def _nothing(_: State, __: Settings, inputs: list[Tensor]) -> Tensor:
    return inputs[0]


@handles("Dropout", "GaussianDropout")
def _dropout(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    return state.add("Dropout", {"p": config.share("rate", 0.5)}, inputs, inputs[0].shape)


@handles("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def _spatial_dropout(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    kind = f"Dropout{max(1, len(inputs[0].shape) - 1)}d"
    return state.add(kind, {"p": config.share("rate", 0.5)}, inputs, inputs[0].shape)


@handles("BatchNormalization")
def _batch_norm(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    affine: Args = {}
    if not (config.flag("scale", default=True) or config.flag("center", default=True)):
        affine = {"affine": False}
    if len(x.shape) == 2:  # noqa: PLR2004 - a sequence, whose features come last here
        turned = state.add("Transpose", {"dim0": 1, "dim1": 2}, [x], x.shape[::-1])
        normed = state.add("BatchNorm1d", affine, [turned], turned.shape)
        return state.add("Transpose", {"dim0": 1, "dim1": 2}, [normed], x.shape)
    kind = {1: "BatchNorm1d", 3: "BatchNorm2d", 4: "BatchNorm3d"}.get(len(x.shape))
    if kind is None:
        raise InputError(f"{config.where}: batch norm of {list(x.shape)} is not converted")
    return state.add(kind, affine, [x], x.shape)


@handles("LayerNormalization")
def _layer_norm(state: State, _: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    if features_place(x.shape) or len(x.shape) == 1:
        return state.add("LayerNorm", {}, [x], x.shape)
    rank = len(x.shape) + 1
    turned = state.add("Permute", {"dims": [0, *range(2, rank), 1]}, [x], (*x.shape[1:], x.shape[0]))
    normed = state.add("LayerNorm", {}, [turned], turned.shape)
    return state.add("Permute", {"dims": [0, rank - 1, *range(1, rank - 1)]}, [normed], x.shape)


@handles("GroupNormalization")
def _group_norm(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    groups = config.get("groups", 32)
    channels = x.shape[features_place(x.shape)]
    count = channels if groups == -1 else config.count("groups", default=32)
    if channels % count:
        raise InputError(f"{config.where}: groups: {count} do not divide {channels} channels")
    if len(x.shape) == 2:  # noqa: PLR2004 - a sequence
        turned = state.add("Transpose", {"dim0": 1, "dim1": 2}, [x], x.shape[::-1])
        normed = state.add("GroupNorm", {"num_groups": count}, [turned], turned.shape)
        return state.add("Transpose", {"dim0": 1, "dim1": 2}, [normed], x.shape)
    return state.add("GroupNorm", {"num_groups": count}, [x], x.shape)


@handles("Activation", own_activation=True)
def _activation(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    return activated(state, config["activation"], inputs[0])


@handles("ReLU")
def _relu(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    kind = "ReLU6" if config.get("max_value") == 6 else "ReLU"  # noqa: PLR2004 - the name says it
    return state.add(kind, {}, inputs, inputs[0].shape)


def _named(kind: str) -> Handler:
    def handler(state: State, _: Settings, inputs: list[Tensor]) -> Tensor:
        return state.add(kind, {}, inputs, inputs[0].shape)

    return handler


for _name, _kind in {"LeakyReLU": "LeakyReLU", "ELU": "ELU", "PReLU": "PReLU"}.items():
    handles(_name)(_named(_kind))


@handles("Softmax")
def _softmax(state: State, _: Settings, inputs: list[Tensor]) -> Tensor:
    return activated(state, "softmax", inputs[0])


def _joined(kind: str) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        if len({t.shape for t in inputs}) > 1 and len({len(t.shape) for t in inputs}) > 1:
            raise InputError(f"{config.where}: its inputs {[list(t.shape) for t in inputs]} do not fit")
        shape = tuple(max(sizes) for sizes in zip(*(t.shape for t in inputs), strict=True))
        if kind in ("Add", "Mul") or len(inputs) < 3:  # noqa: PLR2004 - the others take two
            return state.add(kind, {}, inputs, shape)
        value = inputs[0]
        for other in inputs[1:]:
            value = state.add(kind, {}, [value, other], shape)
        return value

    return handler


for _name, _kind in {
    "Add": "Add", "Multiply": "Mul", "Subtract": "Sub", "Maximum": "Maximum", "Minimum": "Minimum",
}.items():  # fmt: skip
    handles(_name)(_joined(_kind))


@handles("Average")
def _average(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    total = _joined("Add")(state, config, inputs)
    return state.add("MulScalar", {"value": 1 / len(inputs)}, [total], total.shape)


@handles("Concatenate")
def _concatenate(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    first = inputs[0].shape
    rank = len(first)
    axis = config.get("axis", -1)
    if not isinstance(axis, int) or isinstance(axis, bool) or not (-rank <= axis < 0 or 0 < axis <= rank):
        raise InputError(f"{config.where}: concatenation along axis {axis} is not converted")
    keras = (axis - 1) % rank if axis > 0 else axis % rank  # among the dimensions after the batch
    place = keras if features_place(first) or rank == 1 else (keras + 1) % rank
    fits = all(len(t.shape) == rank for t in inputs) and all(
        len({t.shape[d] for t in inputs}) == 1 for d in range(rank) if d != place
    )
    if not fits:
        raise InputError(f"{config.where}: its inputs {[list(t.shape) for t in inputs]} do not fit")
    total = sum(t.shape[place] for t in inputs)
    shape = (*first[:place], total, *first[place + 1 :])
    return state.add("Concat", {"dim": place + 1} if place else {}, inputs, shape)


@handles("Rescaling")
def _rescaling(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    return state.add("MulScalar", {"value": float(config.number("scale", 1.0))}, inputs, inputs[0].shape)


@handles("Reshape")
def _reshape(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    target = config.counts("target_shape", least=-1)
    whole, known = prod(inputs[0].shape), prod(size for size in target if size != -1)
    if target.count(-1) > 1 or 0 in target or whole % known or (-1 not in target and whole != known):
        raise config.wrong("target_shape", f"shape of {whole} values")
    shape = ours(tuple(whole // known if size == -1 else size for size in target))
    return state.add("Reshape", {"shape": list(shape)}, inputs, shape)


@handles("RepeatVector")
def _repeated(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    n = config.count("n")
    row = state.add("Unsqueeze", {"dim": 1}, [x], (1, *x.shape))
    return state.add("Expand", {"shape": [n, *x.shape]}, [row], (n, *x.shape))
