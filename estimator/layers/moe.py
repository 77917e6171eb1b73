"""Feed-forward networks of language models: gated (Llama), and a mixture of experts (Mixtral)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal

from estimator.layers.arguments import Positive
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.activations import gated
from estimator.layers.functional.arithmetic import add, div, mul
from estimator.layers.functional.experts import for_each_expert, grouped_linear
from estimator.layers.functional.indexing import indexed
from estimator.layers.functional.pointwise import fork, unary
from estimator.layers.functional.products import linear
from estimator.layers.functional.reductions import softmax, total
from estimator.layers.scopes import scope
from estimator.precision import DType
from estimator.software import Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.layers.tape import Tape, Tensor

_SAVED = {"silu": "input", "gelu": "input", "relu": "output"}


@register("GatedMLP", Example(((2, 6, 8),), {"hidden_features": 12}))
@dataclass(frozen=True, slots=True, kw_only=True)
class GatedMLP(Layer):
    """``(*, E) -> (*, E)``: ``down(activation(gate x) * up x)`` (Shazeer, arXiv:2002.05202).

    ``packed`` makes gate and up one product.
    """

    hidden_features: Positive
    activation: Literal["silu", "gelu", "relu"] = "silu"
    bias: bool = False
    packed: bool = False
    in_features: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Gate, multiply, project back."""
        (x,) = inputs
        width, hidden = x.shape[-1], self.hidden_features
        if self.in_features not in (None, width):
            raise LayerError(
                f"GatedMLP.in_features is {self.in_features} but the input has {width} features",
                argument="in_features",
            )

        def project(y: Tensor, name: str, features: int) -> Tensor:
            weight = tape.weight(f"{name}.weight", (features, y.shape[-1]))
            return linear(tape, y, weight, tape.weight(f"{name}.bias", (features,)) if self.bias else None)

        if self.packed:
            both = project(x, "gate_up_proj", 2 * hidden)
            y = gated(tape, both, len(both.shape) - 1, self.activation)
        else:
            fork(tape, x)
            gate = project(x, "gate_proj", hidden)
            y = gated(tape, gate, None, self.activation, other=project(x, "up_proj", hidden))
        return project(y, "down_proj", width)


@register("MoE", Example(((2, 6, 8),), {"num_experts": 4, "hidden_features": 12}))
@dataclass(frozen=True, slots=True, kw_only=True)
class MoE(Layer):
    """``(*, E) -> (*, E)``: each token goes through ``top_k`` of ``num_experts`` feed-forward networks.

    Assumes balanced routing: each expert gets an equal share of the tokens. An expert is a gated network
    (``gated``) or two linear layers; ``shared_features`` adds one gated network that all tokens pass.
    Eager software runs the experts one after the other, else products are grouped kernels.
    """

    num_experts: Positive
    hidden_features: Positive
    top_k: Positive = 2
    gated: bool = True
    activation: Literal["silu", "gelu", "relu"] = "silu"
    shared_features: Positive | None = None
    in_features: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Route, run the experts, add up."""
        (x,) = inputs
        width = x.shape[-1]
        if self.in_features not in (None, width):
            raise LayerError(
                f"MoE.in_features is {self.in_features} but the input has {width} features",
                argument="in_features",
            )
        if self.top_k > self.num_experts:
            raise LayerError(
                f"MoE.top_k is {self.top_k} but there are {self.num_experts} experts", argument="top_k"
            )
        tokens = tape.view(x, (prod(x.shape[:-1]), width))
        fork(tape, tokens, 2 if self.shared_features is None else 3)
        routing = self._route(tape, tokens)
        out = self._experts(tape, tokens, routing)
        if self.shared_features is not None:
            shared = GatedMLP(hidden_features=self.shared_features, activation=self.activation)
            with scope(tape, "shared_expert"):
                out = add(tape, out, shared.forward(tape, tokens))
        return tape.view(out, x.shape)

    def _route(self, tape: Tape, tokens: Tensor) -> Tensor:
        """Return ``(tokens, top_k)`` weights: softmax over experts, the largest, made to add up to 1."""
        router = tape.weight("gate.weight", (self.num_experts, tokens.shape[-1]))
        scores = softmax(tape, linear(tape, tokens, router))
        count = tokens.shape[0]
        index = tape.new((count, self.top_k), DType.INT64, requires_grad=False)
        weights = indexed(tape, scores, index, (count, self.top_k), "topk")
        return div(tape, weights, total(tape, fork(tape, weights), (1,), keepdim=True))

    def _experts(self, tape: Tape, tokens: Tensor, routing: Tensor) -> Tensor:
        """Send each token to its experts and add up what comes back, weighted."""
        count, width = tokens.shape
        rows, hidden = count * self.top_k, self.hidden_features
        names = {"gate_proj": hidden, "up_proj": hidden} if self.gated else {"up_proj": hidden}
        inward = {
            name: tape.weight(f"experts.{name}", (self.num_experts, size, width))
            for name, size in names.items()
        }
        outward = tape.weight("experts.down_proj", (self.num_experts, width, hidden))
        out = tape.new(tokens.shape, tape.policy.activations, requires_grad=True)

        def run(size: int, multiply: Callable[[Tensor, Tensor], Tensor]) -> None:
            """Gather ``size`` rows, run them through the network, add them to the output."""
            index = tape.new((size,), DType.INT64, requires_grad=False)
            x = indexed(tape, tokens, index, (size, width), "gather_tokens")
            if self.gated:
                fork(tape, x)
                y = gated(
                    tape, multiply(x, inward["gate_proj"]), None, self.activation,
                    other=multiply(x, inward["up_proj"]),
                )  # fmt: skip
            else:
                hidden_rows = multiply(x, inward["up_proj"])
                y = unary(tape, hidden_rows, self.activation, saves=_SAVED[self.activation])
            chosen = tape.view(routing, (size, 1)) if size == rows else _part(tape, routing, size)
            _scatter_add(tape, mul(tape, multiply(y, outward), chosen), out)

        if tape.setting.software.mode is Mode.EAGER:
            for_each_expert(tape, rows, self.num_experts, lambda size: run(size, _one_expert(tape)))
        else:
            run(rows, lambda x, weight: grouped_linear(tape, x, weight))
        return out


def _one_expert(tape: Tape) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the product with one of the stacked weights."""
    return lambda x, weight: linear(tape, x, tape.view(weight, weight.shape[1:]))


def _part(tape: Tape, routing: Tensor, size: int) -> Tensor:
    """Return the routing weights of one expert's rows, gathered."""
    index = tape.new((size,), DType.INT64, requires_grad=False)
    return indexed(tape, routing, index, (size, 1), "gather_routing")


def _scatter_add(tape: Tape, rows: Tensor, out: Tensor) -> None:
    """Add rows to the tokens they belong to; backward gathers them again."""
    for name, op, phase in (
        ("index_add", Op.SCATTER, Phase.FORWARD),
        ("index_add_backward", Op.GATHER, Phase.DGRAD),
    ):
        if phase is Phase.DGRAD and not rows.requires_grad:
            continue
        tape.emit(
            traffic(
                name, op, phase, compute=rows.dtype, read=rows.bytes + rows.numel * out.dtype.itemsize,
                written=rows.bytes, elements=rows.numel,
            )
        )  # fmt: skip
