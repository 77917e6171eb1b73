"""Recurrent layers: RNN, LSTM and GRU over sequences, and their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from estimator.layers.arguments import Depth, NonNegative, Positive, Share
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import cells
from estimator.layers.functional.cells import Cell, CellWeights
from estimator.layers.functional.movement import contiguous, permute
from estimator.layers.functional.pointwise import dropout
from estimator.layers.functional.recurrent import run_cell, run_direction
from estimator.workload.build import traffic
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent(Layer):
    """``(N, T, in) -> (N, T, directions * H), (layers * directions, N, H)[, the same for c]``.

    ``batch_first`` is true in this language; false takes ``(T, N, in)``. ``(T, in)`` is a sequence without a
    batch. Initial states may follow as further inputs. ``fused: false`` steps through the sequence as a
    framework without cuDNN does. The steps run time first: a batch-first sequence is copied, its output a
    transposed view.
    """

    cell: ClassVar[Cell]

    hidden_size: Positive
    num_layers: Depth = 1
    bias: bool = True
    batch_first: bool = True
    dropout: Share = 0.0
    bidirectional: bool = False
    fused: bool = True
    input_size: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run all layers and directions."""
        x, *states = inputs
        features = check_features(self, x, self.input_size, ranks=(2, 3))
        batched = len(x.shape) == 3  # noqa: PLR2004  (N, T, features)
        time, batch = x.shape[1 if batched and self.batch_first else 0], 1
        if batched:
            batch = x.shape[0 if self.batch_first else 1]
        directions = 2 if self.bidirectional else 1
        self._check_states(states, batch, directions)
        y = permute(tape, x, (1, 0, 2)) if batched and self.batch_first else x
        y = tape.view(contiguous(tape, y), (time, batch, features))
        for layer in range(self.num_layers):
            if layer and self.dropout:
                y = dropout(tape, y, p=self.dropout)
            runs = [
                run_direction(
                    tape, y, cell_weights(tape, self, y.shape[-1], self._out, f"_l{layer}{suffix}"),
                    self.cell, states[0] if states else None, fused=self.fused,
                )
                for suffix in ("", "_reverse")[:directions]
            ]  # fmt: skip
            y = self._join(tape, runs)
        return self._outputs(tape, y, (time, batch), batched=batched)

    @property
    def _out(self) -> int:
        """Width of one direction's output."""
        return self.hidden_size

    def _check_states(self, states: list[Tensor], batch: int, directions: int) -> None:
        if len(states) not in (0, self.cell.states):
            raise LayerError(
                f"{self.type_name} takes a sequence and {self.cell.states} initial state(s) or none, "
                f"got {len(states) + 1} inputs"
            )
        for state, width in zip(states, (self._out, self.hidden_size), strict=False):
            wanted = self.num_layers * directions * batch * width
            if state.shape[-1] != width or state.numel != wanted:
                raise LayerError(
                    f"{self.type_name}: initial state {list(state.shape)} should be "
                    f"{[self.num_layers * directions, batch, width]}"
                )

    def _join(self, tape: Tape, runs: list[Tensor]) -> Tensor:
        """Lay the directions' outputs side by side; fused kernels write them there."""
        if len(runs) == 1:
            return runs[0]
        first = runs[0]
        out = tape.new(
            (*first.shape[:-1], len(runs) * self._out), first.dtype, requires_grad=first.requires_grad
        )
        if not self.fused:
            tape.emit(
                traffic(
                    "cat", Op.CONCAT, Phase.FORWARD, compute=out.dtype, read=out.bytes, written=out.bytes,
                    elements=out.numel, flops_per_element=0,
                )
            )  # fmt: skip
        return out

    def _outputs(self, tape: Tape, y: Tensor, size: tuple[int, int], *, batched: bool) -> tuple[Tensor, ...]:
        time, batch = size
        directions = 2 if self.bidirectional else 1
        rows = (self.num_layers * directions, *((batch,) if batched else ()))
        last = [
            tape.new((*rows, width), y.dtype, requires_grad=y.requires_grad)
            for width in (self._out, self.hidden_size)[: self.cell.states]
        ]
        if batched and self.batch_first:
            y = permute(tape, y, (1, 0, 2))
        elif not batched:
            y = tape.view(y, (time, directions * self._out))
        return (y, *last)


def check_features(layer: Layer, x: Tensor, wanted: int | None, *, ranks: tuple[int, ...]) -> int:
    """Return the number of features of ``x``, or raise LayerError."""
    if len(x.shape) not in ranks:
        allowed = " or ".join(str(rank) for rank in ranks)
        raise LayerError(f"{layer.type_name}: needs an input of {allowed} dimensions, got {list(x.shape)}")
    features = x.shape[-1]
    if wanted not in (None, features):
        raise LayerError(
            f"{layer.type_name}.input_size is {wanted} but the input has {features} features",
            argument="input_size",
        )
    return features


def cell_weights(
    tape: Tape, layer: Recurrent | RecurrentCell, features: int, out: int, suffix: str
) -> CellWeights:
    """Declare the weights of one direction of one layer, named as in torch.nn."""
    wide = layer.cell.gates * layer.hidden_size
    return CellWeights(
        input=tape.weight(f"weight_ih{suffix}", (wide, features)),
        hidden=tape.weight(f"weight_hh{suffix}", (wide, out)),
        input_bias=tape.weight(f"bias_ih{suffix}", (wide,)) if layer.bias else None,
        hidden_bias=tape.weight(f"bias_hh{suffix}", (wide,)) if layer.bias else None,
        projection=tape.weight(f"weight_hr{suffix}", (out, layer.hidden_size))
        if out != layer.hidden_size
        else None,
    )


@register("RNN", Example(((2, 5, 8),), {"hidden_size": 6}))
@dataclass(frozen=True, slots=True, kw_only=True)
class RNN(Recurrent):
    """``h = tanh(W x + U h)``, or with relu."""

    cell = cells.RNN

    nonlinearity: Literal["tanh", "relu"] = "tanh"


@register("LSTM", Example(((2, 5, 8),), {"hidden_size": 6}))
@dataclass(frozen=True, slots=True, kw_only=True)
class LSTM(Recurrent):
    """Long short-term memory; ``proj_size`` narrows the output of each step."""

    cell = cells.LSTM

    proj_size: NonNegative = 0

    @property
    def _out(self) -> int:
        if self.proj_size >= self.hidden_size:
            raise LayerError("LSTM.proj_size must be smaller than hidden_size", argument="proj_size")
        return self.proj_size or self.hidden_size


@register("GRU", Example(((2, 5, 8),), {"hidden_size": 6}))
class GRU(Recurrent):
    """Gated recurrent unit."""

    cell = cells.GRU


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentCell(Layer):
    """``(N, in)[, state (N, H) …] -> (N, H) …``: one step; an input without the batch works too."""

    cell: ClassVar[Cell]

    hidden_size: Positive
    bias: bool = True
    input_size: Positive | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run one step."""
        x, *states = inputs
        features = check_features(self, x, self.input_size, ranks=(1, 2))
        lead = x.shape[:-1]
        if len(states) not in (0, self.cell.states):
            raise LayerError(f"{self.type_name} takes an input and {self.cell.states} state(s) or none")
        for state in states:
            if state.shape != (*lead, self.hidden_size):
                raise LayerError(
                    f"{self.type_name}: state {list(state.shape)} should be {[*lead, self.hidden_size]}"
                )
        batch = lead[0] if lead else 1
        weights = cell_weights(tape, self, features, self.hidden_size, "")
        flat = tuple(tape.view(state, (batch, self.hidden_size)) for state in states)
        out = run_cell(tape, tape.view(x, (batch, features)), weights, self.cell, flat)
        shape = (*lead, self.hidden_size)
        more = (tape.new(shape, out.dtype, requires_grad=out.requires_grad),) * (self.cell.states - 1)
        return (tape.view(out, shape), *more)


@register("RNNCell", Example(((4, 8),), {"hidden_size": 6}))
@dataclass(frozen=True, slots=True, kw_only=True)
class RNNCell(RecurrentCell):
    """One step of an RNN."""

    cell = cells.RNN

    nonlinearity: Literal["tanh", "relu"] = "tanh"


@register("LSTMCell", Example(((4, 8),), {"hidden_size": 6}))
class LSTMCell(RecurrentCell):
    """One step of an LSTM: gives the hidden and the cell state."""

    cell = cells.LSTM


@register("GRUCell", Example(((4, 8),), {"hidden_size": 6}))
class GRUCell(RecurrentCell):
    """One step of a GRU."""

    cell = cells.GRU
