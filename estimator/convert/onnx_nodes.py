"""ONNX operators on single values: products, norms, element-wise functions, shapes and reductions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from estimator.convert.onnx_state import HANDLERS, UnknownFormError, handles

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.onnx_state import Attributes, Node, State


@handles("Gemm")
def _gemm(state: State, node: Node, attributes: Attributes) -> None:
    weight = node.input[1]
    if weight not in state.weights or attributes.get("transA"):
        raise UnknownFormError("a product of this form")
    width = state.weights[weight][0 if attributes.get("transB") else 1]
    args: Attributes = {"out_features": width} | ({} if len(node.input) > 2 else {"bias": False})  # noqa: PLR2004 - input, weight, bias
    state.add(node, "Linear", args, [node.input[0]], list(node.input[1:]))


@handles("MatMul")
def _matmul(state: State, node: Node, _: Attributes) -> None:
    a, b = node.input
    if b in state.weights and len(state.weights[b]) == 2:  # noqa: PLR2004 - a matrix
        args = {"out_features": state.weights[b][1], "bias": False}
        state.add(node, "Linear", args, [a], [b])
        return
    state.add(node, "MatMul", {}, [a, b], [])


@handles("BatchNormalization")
def _batch_norm(state: State, node: Node, _: Attributes) -> None:
    rank = len(state.shapes[node.input[0]])
    state.add(node, f"BatchNorm{max(1, rank - 2)}d", {}, [node.input[0]], list(node.input[1:3]))


@handles("LayerNormalization")
def _layer_norm(state: State, node: Node, attributes: Attributes) -> None:
    rank = len(state.shapes[node.input[0]])
    if attributes.get("axis", -1) % rank != rank - 1:
        raise UnknownFormError("several dimensions")
    args: Attributes = {} if len(node.input) > 2 else {"bias": False}  # noqa: PLR2004 - input, scale, bias
    state.add(node, "LayerNorm", args, [node.input[0]], list(node.input[1:]))


_UNARY = {
    "Relu": "ReLU", "Sigmoid": "Sigmoid", "Tanh": "Tanh", "Elu": "ELU", "Selu": "SELU",
    "LeakyRelu": "LeakyReLU",
    "Softplus": "Softplus", "HardSwish": "Hardswish", "HardSigmoid": "Hardsigmoid", "Mish": "Mish",
    "Gelu": "GELU",
    "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Erf": "Erf", "Abs": "Abs", "Neg": "Neg",
    "Reciprocal": "Reciprocal",
    "Sin": "Sin", "Cos": "Cos", "Floor": "Floor", "Identity": "Identity",
}  # fmt: skip


def _unary(kind: str) -> Callable[[State, Node, Attributes], None]:
    def handler(state: State, node: Node, _: Attributes) -> None:
        state.add(node, kind, {}, [node.input[0]], [])

    return handler


for _name, _kind in _UNARY.items():
    HANDLERS[_name] = _unary(_kind)


def _binary(kind: str) -> Callable[[State, Node, Attributes], None]:
    """Return the handler of an operator of two values; a single number among them is no input."""

    def handler(state: State, node: Node, _: Attributes) -> None:
        values = [n for n in node.input if not (n in state.weights and prod(state.weights[n]) == 1)]
        if len(values) == 2:  # noqa: PLR2004 - both are tensors
            state.add(node, kind, {}, values, [])
        elif kind in ("Add", "Sub"):
            state.add(node, "AddScalar", {}, values, [])
        elif kind == "Pow":
            state.add(node, "Pow", {"exponent": 2.0}, values, [])
        else:
            state.add(node, "MulScalar", {"value": 1.0}, values, [])

    return handler


for _name in ("Add", "Sub", "Mul", "Div", "Pow"):
    HANDLERS[_name] = _binary(_name)


@handles("Clip")
def _clip(state: State, node: Node, _: Attributes) -> None:
    bounds = [float(state.constants[n]) for n in node.input[1:] if n in state.constants]
    if bounds == [0.0, 6.0]:
        state.add(node, "ReLU6", {}, [node.input[0]], [])
    else:
        state.add(node, "Clamp", {"min": bounds[0]} if bounds else {}, [node.input[0]], [])


@handles("Softmax", "LogSoftmax")
def _softmax(state: State, node: Node, attributes: Attributes) -> None:
    state.add(node, node.op_type, {"dim": attributes.get("axis", -1)}, [node.input[0]], [])


@handles("Concat")
def _concat(state: State, node: Node, attributes: Attributes) -> None:
    state.add(node, "Concat", {"dim": attributes["axis"]}, list(node.input), [])


@handles("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def _reshape(state: State, node: Node, _: Attributes) -> None:
    before, after = state.shapes.get(node.input[0], ()), state.shapes.get(node.output[0], ())
    if not after or 0 in after or 0 in before:
        raise UnknownFormError("a shape that is computed")
    if before[:1] == after[:1] == (state.batch,) and len(after) > 1:
        if len(after) == 2:  # noqa: PLR2004 - (batch, features)
            state.add(node, "Flatten", {}, [node.input[0]], [])
        else:
            state.add(node, "Reshape", {"shape": list(after[1:])}, [node.input[0]], [])
        return
    shape = [-1, *after[1:]] if after[0] % state.batch == 0 else list(after)
    state.add(node, "Reshape", {"shape": shape, "start_dim": 0}, [node.input[0]], [])


@handles("Transpose")
def _transpose(state: State, node: Node, attributes: Attributes) -> None:
    rank = len(state.shapes[node.input[0]])
    dims = list(attributes.get("perm", reversed(range(rank))))
    state.add(node, "Permute", {"dims": dims}, [node.input[0]], [])


@handles("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(state: State, node: Node, attributes: Attributes) -> None:
    axes = attributes.get("axes")
    if axes is None and len(node.input) > 1 and node.input[1] in state.constants:
        axes = [int(a) for a in state.constants[node.input[1]]]
    if axes is None:
        raise UnknownFormError("a reduction of everything")
    args: Attributes = {"dim": axes[0] if len(axes) == 1 else list(axes)}
    args |= {"keepdim": True} if attributes.get("keepdims", 1) else {}
    state.add(node, node.op_type.removeprefix("Reduce"), args, [node.input[0]], [])


@handles("Dropout")
def _dropout(state: State, node: Node, _: Attributes) -> None:
    state.add(node, "Dropout", {}, [node.input[0]], [])


@handles("Gather")
def _gather(state: State, node: Node, attributes: Attributes) -> None:
    table, index = node.input
    if table in state.weights and len(state.weights[table]) == 2 and not attributes.get("axis"):  # noqa: PLR2004 - a matrix
        rows, width = state.weights[table]
        state.add(node, "Embedding", {"num_embeddings": rows, "embedding_dim": width}, [index], [table])
        return
    if index in state.constants and state.constants[index].ndim == 0:
        args = {"dim": attributes.get("axis", 0), "index": int(state.constants[index])}
        state.add(node, "Select", args, [table], [])
        return
    raise UnknownFormError("an index of this kind")


@handles("Split")
def _split(state: State, node: Node, attributes: Attributes) -> None:
    axis = attributes.get("axis", 0)
    sizes = [state.shapes[name][axis] for name in node.output]
    state.add(node, "Split", {"split_size": sizes, "dim": axis}, [node.input[0]], [])
