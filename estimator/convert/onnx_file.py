"""ONNX files to entries: the graph's nodes by ONNX's own shape inference; weights are not looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted, Entry, Gap, Given, Source
from estimator.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable

Attributes = dict[str, Any]
Node = Any  # onnx.NodeProto: the package is optional

BATCH = 2  # what a symbolic batch is made for shape inference: dimensions of it are left out of the entries


@dataclass(slots=True)
class _State:
    shapes: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[int, ...]]
    constants: dict[str, Any]
    count: int
    batch: int
    entries: list[Entry] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)

    def source(self, name: str) -> Source:
        """Return where a value comes from; weights become entries when a layer takes them as values."""
        if name not in self.sources:
            if name not in self.weights:
                raise InputError(f"the value {name!r} is never made")
            shape = [*self.weights[name]] or [1]
            self.entries.append(Entry(type="Parameter", args={"shape": shape}, path=name))
            self.sources[name] = Source(self.count + len(self.entries) - 1)
        return self.sources[name]

    def add(self, node: Node, kind: str, args: Attributes, inputs: list[str], weights: list[str]) -> Source:
        """Append the entry of a node; ``weights`` are the initialisers it owns."""
        entry = Entry(
            type=kind,
            args=args,
            inputs=tuple(self.source(n) for n in inputs),
            path=node.name or node.output[0],
        )
        if weights and weights[0] in self.owners:
            entry.tie = self.owners[weights[0]]
        for weight in weights:
            self.owners.setdefault(weight, len(self.entries))
        return self.step(node, entry)

    def step(self, node: Node, entry: Entry) -> Source:
        """Append an entry and let it be the node's first output."""
        self.entries.append(entry)
        source = Source(self.count + len(self.entries) - 1)
        for n, name in enumerate(node.output):
            self.sources[name] = Source(source.index, n)
        return source


HANDLERS: dict[str, Callable[[_State, Node, Attributes], None]] = {}


class UnknownFormError(Exception):
    """A node has a form that no layer describes."""


def handles(
    *names: str,
) -> Callable[[Callable[[_State, Node, Attributes], None]], Callable[[_State, Node, Attributes], None]]:
    """Register an ONNX operator."""

    def add(
        function: Callable[[_State, Node, Attributes], None],
    ) -> Callable[[_State, Node, Attributes], None]:
        for name in names:
            HANDLERS[name] = function
        return function

    return add


def onnx_network(content: bytes, name: str) -> Converted:
    """Return the network of an ONNX file; operators without a layer become Custom and are named.

    The first dimension of each input is the batch. Raises InputError for what is no ONNX model.
    """
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
    state = _State(shapes, initial, constants, len(inputs), batch)
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


def _node(state: _State, node: Node, onnx: Any) -> None:  # noqa: ANN401 - the package
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


def _custom(state: _State, node: Node, reason: str) -> None:
    """Append Custom with the bytes of what goes in and comes out."""
    out = state.shapes.get(node.output[0], ())
    if not out or 0 in out:
        raise InputError(f"node {node.name or node.output[0]!r} ({node.op_type}) has no inferred shape")
    values = [n for n in node.input if n in state.sources]
    own = [n for n in node.input if n in state.weights and n not in state.owners and n not in state.sources]
    size = 4 * (sum(prod(state.shapes.get(n, ())) for n in (*values, *own)) + prod(out))
    args: Attributes = {
        "out_shape": list(out[1:]) or [1], "params": sum(prod(state.weights[n]) for n in own), "flops": 0,
        "bytes": max(1, size // max(1, out[0])),
    }  # fmt: skip
    inputs = tuple(state.sources[n] for n in values)
    state.step(node, Entry(type="Custom", args=args, inputs=inputs, path=node.name or node.output[0]))
    for weight in own:
        state.owners.setdefault(weight, len(state.entries) - 1)
    state.gaps.append(Gap(node.name, f"{node.op_type} ({reason})", 1, 0, args["bytes"]))


def _brief(values: list[int]) -> int | list[int]:
    return values[0] if all(v == values[0] for v in values) else list(values)


def _padded(state: _State, node: Node, attributes: Attributes, dims: int) -> tuple[str, Attributes]:
    """Return the name of the (possibly padded) input, and the padding argument."""
    pads = list(attributes.get("pads", [0] * 2 * dims))
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise UnknownFormError("automatic padding")
    if pads[:dims] == pads[dims:]:
        return node.input[0], {"padding": _brief(pads[:dims])} if any(pads) else {}
    widths = [w for i in reversed(range(dims)) for w in (pads[i], pads[dims + i])]
    name = f"{node.output[0]}.padded"
    entry = Entry(
        type="Pad", args={"padding": widths}, inputs=(state.source(node.input[0]),), path=f"{node.name}.pad"
    )
    state.entries.append(entry)
    state.sources[name] = Source(state.count + len(state.entries) - 1)
    return name, {}


@handles("Conv", "ConvTranspose")
def _conv(state: _State, node: Node, attributes: Attributes) -> None:
    weight = node.input[1]
    if weight not in state.weights:
        raise UnknownFormError("a weight that is computed")
    shape = state.weights[weight]
    dims, groups = len(shape) - 2, attributes.get("group", 1)
    name, args = _padded(state, node, attributes, dims)
    transposed = node.op_type == "ConvTranspose"
    width = shape[1] * groups if transposed else shape[0]
    made: Attributes = {"out_channels": width, "kernel_size": _brief(list(shape[2:]))}
    for ours, theirs in (
        ("stride", "strides"),
        ("dilation", "dilations"),
        ("output_padding", "output_padding"),
    ):
        values = attributes.get(theirs)
        usual = 0 if ours == "output_padding" else 1
        if values and set(values) != {usual}:
            made[ours] = _brief(list(values))
    made |= args | ({"groups": groups} if groups != 1 else {})
    biased = len(node.input) > 2  # noqa: PLR2004 - input, weight, bias
    made |= {} if biased else {"bias": False}
    state.add(node, f"{node.op_type}{dims}d", made, [name], list(node.input[1:]))


@handles("Gemm")
def _gemm(state: _State, node: Node, attributes: Attributes) -> None:
    weight = node.input[1]
    if weight not in state.weights or attributes.get("transA"):
        raise UnknownFormError("a product of this form")
    width = state.weights[weight][0 if attributes.get("transB") else 1]
    args: Attributes = {"out_features": width} | ({} if len(node.input) > 2 else {"bias": False})  # noqa: PLR2004 - input, weight, bias
    state.add(node, "Linear", args, [node.input[0]], list(node.input[1:]))


@handles("MatMul")
def _matmul(state: _State, node: Node, _: Attributes) -> None:
    a, b = node.input
    if b in state.weights and len(state.weights[b]) == 2:  # noqa: PLR2004 - a matrix
        args = {"out_features": state.weights[b][1], "bias": False}
        state.add(node, "Linear", args, [a], [b])
        return
    state.add(node, "MatMul", {}, [a, b], [])


@handles("BatchNormalization")
def _batch_norm(state: _State, node: Node, _: Attributes) -> None:
    rank = len(state.shapes[node.input[0]])
    state.add(node, f"BatchNorm{max(1, rank - 2)}d", {}, [node.input[0]], list(node.input[1:3]))


@handles("LayerNormalization")
def _layer_norm(state: _State, node: Node, attributes: Attributes) -> None:
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


def _unary(kind: str) -> Callable[[_State, Node, Attributes], None]:
    def handler(state: _State, node: Node, _: Attributes) -> None:
        state.add(node, kind, {}, [node.input[0]], [])

    return handler


for _name, _kind in _UNARY.items():
    HANDLERS[_name] = _unary(_kind)


def _binary(kind: str) -> Callable[[_State, Node, Attributes], None]:
    """Return the handler of an operator of two values; a single number among them is no input."""

    def handler(state: _State, node: Node, _: Attributes) -> None:
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
def _clip(state: _State, node: Node, _: Attributes) -> None:
    bounds = [float(state.constants[n]) for n in node.input[1:] if n in state.constants]
    if bounds == [0.0, 6.0]:
        state.add(node, "ReLU6", {}, [node.input[0]], [])
    else:
        state.add(node, "Clamp", {"min": bounds[0]} if bounds else {}, [node.input[0]], [])


@handles("Softmax", "LogSoftmax")
def _softmax(state: _State, node: Node, attributes: Attributes) -> None:
    state.add(node, node.op_type, {"dim": attributes.get("axis", -1)}, [node.input[0]], [])


@handles("MaxPool", "AveragePool")
def _pool(state: _State, node: Node, attributes: Attributes) -> None:
    kernel = list(attributes["kernel_shape"])
    name, args = _padded(state, node, attributes, len(kernel))
    strides = list(attributes.get("strides", [1] * len(kernel)))
    made: Attributes = {"kernel_size": _brief(kernel)}
    made |= ({"stride": _brief(strides)} if strides != kernel else {}) | args
    made |= {"ceil_mode": True} if attributes.get("ceil_mode") else {}
    kind = f"{'Max' if node.op_type == 'MaxPool' else 'Avg'}Pool{len(kernel)}d"
    state.add(node, kind, made, [name], [])


@handles("GlobalAveragePool")
def _global_pool(state: _State, node: Node, _: Attributes) -> None:
    dims = len(state.shapes[node.input[0]]) - 2
    state.add(node, f"AdaptiveAvgPool{dims}d", {"output_size": 1}, [node.input[0]], [])


@handles("Concat")
def _concat(state: _State, node: Node, attributes: Attributes) -> None:
    state.add(node, "Concat", {"dim": attributes["axis"]}, list(node.input), [])


@handles("Flatten", "Reshape", "Squeeze", "Unsqueeze")
def _reshape(state: _State, node: Node, _: Attributes) -> None:
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
def _transpose(state: _State, node: Node, attributes: Attributes) -> None:
    rank = len(state.shapes[node.input[0]])
    dims = list(attributes.get("perm", reversed(range(rank))))
    state.add(node, "Permute", {"dims": dims}, [node.input[0]], [])


@handles("ReduceMean", "ReduceSum", "ReduceMax")
def _reduce(state: _State, node: Node, attributes: Attributes) -> None:
    axes = attributes.get("axes")
    if axes is None and len(node.input) > 1 and node.input[1] in state.constants:
        axes = [int(a) for a in state.constants[node.input[1]]]
    if axes is None:
        raise UnknownFormError("a reduction of everything")
    args: Attributes = {"dim": axes[0] if len(axes) == 1 else list(axes)}
    args |= {"keepdim": True} if attributes.get("keepdims", 1) else {}
    state.add(node, node.op_type.removeprefix("Reduce"), args, [node.input[0]], [])


@handles("Dropout")
def _dropout(state: _State, node: Node, _: Attributes) -> None:
    state.add(node, "Dropout", {}, [node.input[0]], [])


@handles("Gather")
def _gather(state: _State, node: Node, attributes: Attributes) -> None:
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
def _split(state: _State, node: Node, attributes: Attributes) -> None:
    axis = attributes.get("axis", 0)
    sizes = [state.shapes[name][axis] for name in node.output]
    state.add(node, "Split", {"split_size": sizes, "dim": axis}, [node.input[0]], [])
