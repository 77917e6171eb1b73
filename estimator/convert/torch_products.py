"""Translators of matrix products, convolutions, embeddings and recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_translate import UntranslatableError, arguments, translates

if TYPE_CHECKING:
    from estimator.convert.entries import Source
    from estimator.convert.torch_trace import Call, Ref
    from estimator.convert.torch_translate import Translation


def short(value: Any) -> Any:  # noqa: ANN401 - an argument as torch passes it
    """Return one number for a list of equal ones, lists for tuples."""
    if isinstance(value, tuple):
        return value[0] if value and all(v == value[0] for v in value) else list(value)
    return value


def unless(args: dict[str, Any], **defaults: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return arguments in their short form without those that have torch's default."""
    brief = {k: short(v) for k, v in args.items()}
    return {k: v for k, v in brief.items() if v is not None and not (k in defaults and defaults[k] == v)}


@translates("torch.nn.functional.linear")
def linear(t: Translation, call: Call) -> None:
    """Translate: a weight that is computed makes a product of two activations."""
    a = arguments(call, "input weight bias")
    x, weight, bias = a["input"], a["weight"], a.get("bias")
    if t.parameter(weight) is None:
        transposed = t.step(call, "Transpose", {"dim0": -2, "dim1": -1}, [t.source(weight)])
        product = t.step(call, "MatMul", {}, [t.source(x), transposed])
        if bias is not None:
            product = t.step(call, "Add", {}, [product, t.source(bias)])
        t.hold(call, product)
        return
    if bias is not None and t.parameter(bias) is None:
        product = t.emit(call, "Linear", {"out_features": t.shape(weight)[0], "bias": False}, [x], [weight])
        t.hold(call, t.step(call, "Add", {}, [product, t.source(bias)]))
        return
    args = {"out_features": t.shape(weight)[0], **({} if bias is not None else {"bias": False})}
    t.emit(call, "Linear", args, [x], [weight, bias])


@translates("torch.nn.functional.bilinear")
def bilinear(t: Translation, call: Call) -> None:
    """Both inputs and the weight."""
    a = arguments(call, "input1 input2 weight bias")
    args = {"out_features": t.shape(a["weight"])[0], **({} if a.get("bias") is not None else {"bias": False})}
    t.emit(call, "Bilinear", args, [a["input1"], a["input2"]], [a["weight"], a.get("bias")])


def _convolution(
    t: Translation, call: Call, kind: str, args: dict[str, Any], operands: tuple[Ref, Ref, Ref | None]
) -> None:
    """Emit a convolution; one whose weight is computed takes it as a second input."""
    x, weight, bias = operands
    if not isinstance(args.get("groups", 1), int):
        raise UntranslatableError("groups that depend on the batch")
    if t.parameter(weight) is not None and (bias is None or t.parameter(bias) is not None):
        t.emit(call, kind, args | ({} if bias is not None else {"bias": False}), [x], [weight, bias])
        return
    if t.factors(weight) != (0,) * len(t.factors(weight)):
        raise UntranslatableError("a weight for each sample")
    args = {k: v for k, v in args.items() if k not in ("out_channels", "kernel_size")}
    operand_list = [x, weight] + ([bias] if bias is not None else [])
    t.emit(call, f"Functional{kind}", args, operand_list)


@translates(*(f"torch.nn.functional.conv{d}d" for d in (1, 2, 3)), *(f"torch.conv{d}d" for d in (1, 2, 3)))
def convolution(t: Translation, call: Call) -> None:
    """Translate: the usual kind."""
    a = arguments(call, "input weight bias stride padding dilation groups")
    dims = call.function[-2]
    shape = t.shape(a["weight"])
    args = {"out_channels": shape[0], "kernel_size": short(shape[2:])} | unless(
        {k: a.get(k) for k in ("stride", "padding", "dilation", "groups")},
        stride=1, padding=0, dilation=1, groups=1,
    )  # fmt: skip
    _convolution(t, call, f"Conv{dims}d", args, (a["input"], a["weight"], a.get("bias")))


@translates(
    *(f"torch.nn.functional.conv_transpose{d}d" for d in (1, 2, 3)),
    *(f"torch.conv_transpose{d}d" for d in (1, 2, 3)),
)
def transposed_convolution(t: Translation, call: Call) -> None:
    """Translate: the kind that enlarges."""
    a = arguments(call, "input weight bias stride padding output_padding groups dilation")
    dims = call.function[-2]
    shape, groups = t.shape(a["weight"]), a.get("groups", 1)
    args = {"out_channels": shape[1] * groups, "kernel_size": short(shape[2:])} | unless(
        {k: a.get(k) for k in ("stride", "padding", "output_padding", "groups", "dilation")},
        stride=1, padding=0, output_padding=0, groups=1, dilation=1,
    )  # fmt: skip
    _convolution(t, call, f"ConvTranspose{dims}d", args, (a["input"], a["weight"], a.get("bias")))


@translates(
    "torch.Tensor.matmul", "torch.matmul", "torch.Tensor.__matmul__", "torch.bmm", "torch.Tensor.bmm",
    "torch.mm", "torch.Tensor.mm", "torch.Tensor.__rmatmul__",
)  # fmt: skip
def matmul(t: Translation, call: Call) -> None:
    """Translate: a product of two tensors."""
    a = arguments(call, "input other")
    x, y = a["input"], a.get("other", a.get("mat2"))
    operands = [y, x] if call.function.endswith("__rmatmul__") else [x, y]
    t.emit(call, "MatMul", {}, operands)


@translates("torch.functional.einsum", "torch.einsum")
def einsum(t: Translation, call: Call) -> None:
    """Translate: a product of two tensors, their indices brought into order; the rest is views or copies."""
    equation, *operands = call.args
    if len(operands) == 1 and isinstance(operands[0], tuple):
        operands = list(operands[0])
    if len(operands) != 2 or not isinstance(equation, str) or "." in equation:  # noqa: PLR2004 - a product
        raise UntranslatableError("an einsum that is no product of two tensors")
    terms, out = equation.replace(" ", "").split("->")
    left, right = terms.split(",")
    sizes = dict(zip(left, zip(t.shape(operands[0]), t.factors(operands[0]), strict=True), strict=True))
    sizes |= dict(zip(right, zip(t.shape(operands[1]), t.factors(operands[1]), strict=True), strict=True))
    batch = [c for c in left if c in right and c in out]
    inner = [c for c in left if c in right and c not in out]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    if any(c not in out for c in rows + columns) or len(set(left)) != len(left) or not inner:
        raise UntranslatableError("an einsum with a sum of its own")
    ordered = [
        _ordered(t, call, t.source(operand), (term, wanted), sizes)
        for operand, term, wanted in (
            (operands[0], left, [batch, rows, inner]), (operands[1], right, [batch, inner, columns])
        )
    ]  # fmt: skip
    product = t.step(call, "MatMul", {}, ordered)
    natural = batch + rows + columns
    shape = [-1 if sizes[c][1] else sizes[c][0] for c in natural]
    if [len(g) for g in (batch, rows, columns)] != [1, 1, 1]:
        product = t.step(call, "Reshape", {"shape": shape, "start_dim": 0}, [product])
    if natural != list(out):
        product = t.step(call, "Permute", {"dims": [natural.index(c) for c in out]}, [product])
    t.hold(call, product)


def _ordered(
    t: Translation, call: Call, source: Source, term: tuple[str, list[list[str]]], sizes: dict[str, Any]
) -> Source:
    """Return an operand as (batch, rows, columns): its indices permuted, groups joined."""
    letters, groups = term
    order = [c for group in groups for c in group]
    if order != list(letters):
        source = t.step(call, "Permute", {"dims": [letters.index(c) for c in order]}, [source])
    if [len(g) for g in groups] == [1, 1, 1]:
        return source
    shape = []
    for group in groups:
        size, batched = 1, False
        for c in group:
            size *= sizes[c][0]
            batched = batched or bool(sizes[c][1])
        shape.append(-1 if batched else size)
    return t.step(call, "Reshape", {"shape": shape, "start_dim": 0}, [source])


@translates("torch.baddbmm", "torch.addmm", "torch.Tensor.baddbmm", "torch.Tensor.addmm")
def product_and_sum(t: Translation, call: Call) -> None:
    """Translate: a product whose epilogue adds a tensor."""
    a = arguments(call, "input a b")
    product = t.step(call, "MatMul", {}, [t.source(call.args[1]), t.source(call.args[2])])
    if a.get("beta", 1) == 0:
        t.hold(call, product)
        return
    t.hold(call, t.step(call, "Add", {}, [product, t.source(a["input"])]))


@translates("torch.nn.functional.embedding")
def embedding(t: Translation, call: Call) -> None:
    """Translate: a look-up in a table of parameters."""
    a = arguments(call, "input weight")
    rows, width = t.shape(a["weight"])
    t.emit(call, "Embedding", {"num_embeddings": rows, "embedding_dim": width}, [a["input"]], [a["weight"]])


@translates("torch.lstm", "torch.gru", "torch.rnn_tanh", "torch.rnn_relu")
def recurrent(t: Translation, call: Call) -> None:
    """Translate: a stack of recurrent layers; its weights come as one flat list."""
    x, state, weights, bias, layers, dropout, _, bidirectional, batch_first = call.args[:9]
    kind = {"lstm": "LSTM", "gru": "GRU"}.get(call.function.removeprefix("torch."), "RNN")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    hidden = t.shape(weights[0])[0] // gates
    per_layer = len(weights) // (layers * (2 if bidirectional else 1))
    args: dict[str, Any] = {"hidden_size": hidden}
    if per_layer in (3, 5):
        args["proj_size"] = t.shape(weights[1])[1]
    if call.function == "torch.rnn_relu":
        args["nonlinearity"] = "relu"
    args |= unless(
        {"num_layers": layers, "bias": bias, "dropout": dropout, "bidirectional": bidirectional},
        num_layers=1, bias=True, dropout=0.0, bidirectional=False,
    )  # fmt: skip
    states = state if isinstance(state, tuple) else (state,)
    if not all(t.value(s).constant for s in states):
        raise UntranslatableError("an initial state that is computed")
    source = t.source(x)
    if not batch_first:
        source = t.step(call, "Transpose", {"dim0": 0, "dim1": 1}, [source])
    entry = t.emit(call, kind, args, [], list(weights))
    t.entries[-1].inputs = (source,)
    if not batch_first:
        back: Source = t.step(call, "Transpose", {"dim0": 0, "dim1": 1}, [entry])
        t.hold_one(call, 0, back)
