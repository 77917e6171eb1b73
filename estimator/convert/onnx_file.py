"""ONNX files to entries: the graph's nodes by ONNX's own shape inference; weights are not looked at."""

from __future__ import annotations

import importlib
from math import prod
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted, Entry, Gap, Given, Source
from estimator.convert.onnx_formulas import closed_form
from estimator.convert.onnx_state import HANDLERS, State, UnknownFormError
from estimator.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from estimator.convert.onnx_state import Attributes, Node

BATCH = 2  # what a symbolic batch is made for shape inference: dimensions of it are left out of the entries


def onnx_network(content: bytes, name: str) -> Converted:
    """Return the network of an ONNX file; operators without a layer become Custom and are named.

    The first dimension of each input is the batch. Raises InputError for what is no ONNX model.
    """
    for part in ("nodes", "sequences", "images"):
        importlib.import_module(f"estimator.convert.onnx_{part}")
    try:
        import onnx
    except ImportError:
        raise MissingPackageError(
            "reading ONNX files needs onnx", hint="pip install 'estimator[onnx]'"
        ) from None
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:
        raise InputError(f"{name}: no ONNX model: {error}") from error
    graph = model.graph
    initial = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in initial]
    batch = _fix_batch(inputs)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    shapes = {v.name: _shape(v) for v in (*inferred.value_info, *inferred.output, *inferred.input)} | initial
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer if prod(t.dims) <= 64}  # noqa: PLR2004 - shapes and axes
    state = State(shapes, initial, constants, len(inputs), batch)
    for index, value in enumerate(inputs):
        state.sources[value.name] = Source(index)
    for node in graph.node:
        _node(state, node, onnx)
    outputs = [state.sources[value.name] for value in graph.output]
    given = [Given(_word(v.name), _shape(v)[1:], _dtype(v)) for v in inputs]
    return Converted(name=name, inputs=given, entries=state.entries, outputs=outputs, gaps=state.gaps)


def _fix_batch(inputs: list[Any]) -> int:
    """Give each input's first dimension a number if it has none, and return it."""
    batch = 0
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        if not dims:
            raise InputError(f"input {value.name!r} has no shape")
        if not dims[0].dim_value:
            dims[0].dim_value = BATCH
        batch = dims[0].dim_value
        if any(not d.dim_value for d in dims):
            raise InputError(f"input {value.name!r} has no fixed size", hint="export it with fixed sizes")
    return batch


def _shape(value: Any) -> tuple[int, ...]:  # noqa: ANN401 - onnx.ValueInfoProto
    return tuple(d.dim_value for d in value.type.tensor_type.shape.dim)


def _dtype(value: Any) -> str:  # noqa: ANN401 - onnx.ValueInfoProto
    return {1: "float32", 6: "int32", 7: "int64", 9: "bool", 10: "float16"}.get(
        value.type.tensor_type.elem_type, "float32"
    )


def _word(name: str) -> str:
    word = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return word if word[:1].isalpha() else f"x{word}"


def _node(state: State, node: Node, onnx: Any) -> None:  # noqa: ANN401 - the package
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Constant":
        value = attributes.get("value")
        if value is not None:
            state.constants[node.output[0]] = onnx.numpy_helper.to_array(value)
            state.weights[node.output[0]] = tuple(value.dims)
        return
    before = len(state.entries)
    try:
        handler = HANDLERS.get(node.op_type)
        if handler is None:
            raise UnknownFormError("no layer for it")  # noqa: TRY301 - one place for all that becomes Custom
        handler(state, node, attributes)
    except UnknownFormError as error:
        del state.entries[before:]
        _custom(state, node, str(error))


def _custom(state: State, node: Node, reason: str) -> None:
    """Append Custom with the bytes of what goes in and comes out."""
    out = state.shapes.get(node.output[0], ())
    if not out or 0 in out:
        raise InputError(f"node {node.name or node.output[0]!r} ({node.op_type}) has no inferred shape")
    values = [n for n in node.input if n in state.sources]
    own = [n for n in node.input if n in state.weights and n not in state.owners and n not in state.sources]
    size = 4 * (sum(prod(state.shapes.get(n, ())) for n in (*values, *own)) + prod(out))
    samples = max(1, out[0])
    work = closed_form(state.shapes, node)
    flops = prod(out) if work is None else work
    args: Attributes = {
        "out_shape": list(out[1:]) or [1], "params": sum(prod(state.weights[n]) for n in own),
        "flops": max(1, flops // samples), "bytes": max(1, size // samples),
    }  # fmt: skip
    inputs = tuple(state.sources[n] for n in values)
    state.step(node, Entry(type="Custom", args=args, inputs=inputs, path=node.name or node.output[0]))
    for weight in own:
        state.owners.setdefault(weight, len(state.entries) - 1)
    unknown = "FLOPs" if work is None else ""
    function = f"{node.op_type} ({reason})"
    state.gaps.append(Gap(node.name or node.output[0], function, 1, args["flops"], args["bytes"], unknown))
