"""FLOPs of ONNX operators that no layer describes, where the textbook has a closed form."""

from __future__ import annotations

from math import ceil, log2, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Operators that do about one operation for each element that comes out, or only move it.
_PLAIN = frozenset(
    {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Slice", "Expand", "Tile",
     "Where", "Cast", "Shape", "Range", "Not", "And", "Or", "Equal", "Greater", "Less", "GreaterOrEqual",
     "LessOrEqual", "Sign", "Ceil", "Round", "DepthToSpace", "SpaceToDepth", "ConstantOfShape", "Trilu",
     "OneHot", "Mod", "Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Reshape", "Squeeze", "Unsqueeze",
     "Flatten", "Pad", "IsNaN", "IsInf", "Identity", "Concat"}
)  # fmt: skip


def closed_form(shapes: Mapping[str, tuple[int, ...]], node: Any) -> int | None:  # noqa: ANN401 - onnx.NodeProto
    """Return the FLOPs of a node for the whole batch, or None where no formula is known."""
    kind = node.op_type
    taken = [shapes.get(name, ()) for name in node.input]
    out = shapes.get(node.output[0], ())
    if not taken or not taken[0]:
        return None
    x = taken[0]
    if kind == "Einsum":
        return _einsum(node, taken)
    found: dict[str, float] = {
        "MatMul": 2 * prod(out) * x[-1], "Gemm": 2 * prod(out) * x[-1], "Det": 2 * prod(x) * x[-1] / 3,
        "TopK": prod(x), "ArgMax": prod(x), "ArgMin": prod(x), "CumSum": prod(x),
        "Unique": prod(x) * ceil(log2(max(2, prod(x)))),
        "DFT": 5 * prod(out[:-1]) * log2(max(2, *x)),
    }  # fmt: skip
    if kind in ("Conv", "ConvTranspose") and len(taken) > 1:
        found[kind] = 2 * prod(out if kind == "Conv" else x) * prod(taken[1][1:])
    if kind.startswith("Reduce"):
        found[kind] = prod(x)
    if kind in _PLAIN:
        found.setdefault(kind, prod(out))
    return round(found[kind]) if kind in found else None


def _einsum(node: Any, taken: list[tuple[int, ...]]) -> int | None:  # noqa: ANN401 - onnx.NodeProto
    """Return 2 FLOPs for each combination of all labels: a product of two values."""
    equation = next((a.s.decode() for a in node.attribute if a.name == "equation"), "").replace(" ", "")
    terms = equation.split("->")[0].split(",")
    if (
        "." in equation
        or len(terms) != len(taken)
        or any(len(t) != len(s) for t, s in zip(terms, taken, strict=True))
    ):
        return None
    sizes = {
        label: size
        for term, shape in zip(terms, taken, strict=True)
        for label, size in zip(term, shape, strict=True)
    }
    return max(1, len(taken)) * prod(sizes.values()) if sizes else None
