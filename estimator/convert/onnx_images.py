"""ONNX operators on images: convolutions, pooling, padding and resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.entries import Entry, Source
from estimator.convert.onnx_state import UnknownFormError, handles

if TYPE_CHECKING:
    from estimator.convert.onnx_state import Attributes, Node, State


def brief(values: list[int]) -> int | list[int]:
    """Return one number where all are the same."""
    return values[0] if all(v == values[0] for v in values) else list(values)


def _padded(state: State, node: Node, attributes: Attributes, dims: int) -> tuple[str, Attributes]:
    """Return the name of the (possibly padded) input, and the padding argument."""
    pads = list(attributes.get("pads", [0] * 2 * dims))
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise UnknownFormError("automatic padding")
    if pads[:dims] == pads[dims:]:
        return node.input[0], {"padding": brief(pads[:dims])} if any(pads) else {}
    widths = [w for i in reversed(range(dims)) for w in (pads[i], pads[dims + i])]
    name = f"{node.output[0]}.padded"
    entry = Entry(
        type="Pad", args={"padding": widths}, inputs=(state.source(node.input[0]),), path=f"{node.name}.pad"
    )
    state.entries.append(entry)
    state.sources[name] = Source(state.count + len(state.entries) - 1)
    return name, {}


@handles("Conv", "ConvTranspose")
def _conv(state: State, node: Node, attributes: Attributes) -> None:
    weight = node.input[1]
    if weight not in state.weights:
        raise UnknownFormError("a weight that is computed")
    shape = state.weights[weight]
    dims, groups = len(shape) - 2, attributes.get("group", 1)
    name, args = _padded(state, node, attributes, dims)
    transposed = node.op_type == "ConvTranspose"
    width = shape[1] * groups if transposed else shape[0]
    made: Attributes = {"out_channels": width, "kernel_size": brief(list(shape[2:]))}
    for ours, theirs in (
        ("stride", "strides"),
        ("dilation", "dilations"),
        ("output_padding", "output_padding"),
    ):
        values = attributes.get(theirs)
        usual = 0 if ours == "output_padding" else 1
        if values and set(values) != {usual}:
            made[ours] = brief(list(values))
    made |= args | ({"groups": groups} if groups != 1 else {})
    biased = len(node.input) > 2  # noqa: PLR2004 - input, weight, bias
    made |= {} if biased else {"bias": False}
    state.add(node, f"{node.op_type}{dims}d", made, [name], list(node.input[1:]))


@handles("MaxPool", "AveragePool")
def _pool(state: State, node: Node, attributes: Attributes) -> None:
    kernel = list(attributes["kernel_shape"])
    name, args = _padded(state, node, attributes, len(kernel))
    strides = list(attributes.get("strides", [1] * len(kernel)))
    made: Attributes = {"kernel_size": brief(kernel)}
    made |= ({"stride": brief(strides)} if strides != kernel else {}) | args
    made |= {"ceil_mode": True} if attributes.get("ceil_mode") else {}
    kind = f"{'Max' if node.op_type == 'MaxPool' else 'Avg'}Pool{len(kernel)}d"
    state.add(node, kind, made, [name], [])


@handles("GlobalAveragePool")
def _global_pool(state: State, node: Node, _: Attributes) -> None:
    dims = len(state.shapes[node.input[0]]) - 2
    state.add(node, f"AdaptiveAvgPool{dims}d", {"output_size": 1}, [node.input[0]], [])


@handles("InstanceNormalization")
def _instance_norm(state: State, node: Node, _: Attributes) -> None:
    dims = len(state.shapes[node.input[0]]) - 2
    if dims not in (1, 2, 3):
        raise UnknownFormError(f"a norm of {dims} dimensions")
    state.add(node, f"InstanceNorm{dims}d", {"affine": True}, [node.input[0]], list(node.input[1:]))


@handles("Pad")
def _pad(state: State, node: Node, attributes: Attributes) -> None:
    given = attributes.get("pads")
    if given is None and len(node.input) > 1 and node.input[1] in state.constants:
        given = state.constants[node.input[1]]
    if given is None or (len(node.input) > 3 and node.input[3]):  # noqa: PLR2004 - chosen axes
        raise UnknownFormError("widths that are computed")
    widths = [int(width) for width in given]
    rank = len(widths) // 2
    padded = [d for d in range(rank) if widths[d] or widths[rank + d]]
    if padded and not padded[0]:
        raise UnknownFormError("padding of the batch")
    first = padded[0] if padded else rank - 1
    pairs = [w for d in reversed(range(first, rank)) for w in (widths[d], widths[rank + d])]
    modes = {b"reflect": "reflect", b"edge": "replicate", b"wrap": "circular"}
    mode = modes.get(attributes.get("mode", b"constant"))
    state.add(node, "Pad", {"padding": pairs} | ({"mode": mode} if mode else {}), [node.input[0]], [])


_RESIZED = {b"linear": {1: "linear", 2: "bilinear", 3: "trilinear"}, b"cubic": {2: "bicubic"}}


@handles("Resize", "Upsample")
def _resize(state: State, node: Node, attributes: Attributes) -> None:
    before, after = state.shapes.get(node.input[0], ()), state.shapes.get(node.output[0], ())
    if not after or 0 in after or before[:2] != after[:2]:
        raise UnknownFormError("a size that is computed")
    dims = len(after) - 2
    kind = attributes.get("mode", b"nearest")
    args: Attributes = {"size": list(after[2:])}
    if kind != b"nearest":
        mode = _RESIZED.get(kind, {}).get(dims)
        if mode is None:
            raise UnknownFormError("a mode of this kind")
        args["mode"] = mode
    state.add(node, "Upsample", args, [node.input[0]], [])
