"""Recurrent cells: their kinds, the weights of one direction, the sizes of a run over a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.workload.kernel import GemmShape

if TYPE_CHECKING:
    from estimator.layers.tape import Tensor
    from estimator.precision import DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A kind of recurrent cell.

    ``kept`` counts the values per hidden unit that a step leaves for its backward, besides the state that
    enters it (autograd of PyTorch's native cells): the LSTM its four gates, the cell state that enters and
    the tanh of the one that leaves; the GRU three gates, the candidate's hidden part and value, and
    ``h - n``; the plain RNN nothing, as its output is the next step's state. ``flops`` is the arithmetic per
    hidden unit outside the products, ``states`` how many tensors go from step to step.
    """

    name: str
    gates: int
    kept: int
    flops: int
    states: int = 1


LSTM = Cell(name="lstm", gates=4, kept=6, flops=13, states=2)
GRU = Cell(name="gru", gates=3, kept=6, flops=10)
RNN = Cell(name="rnn", gates=1, kept=0, flops=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWeights:
    """Weights of one direction: ``(gates * H, in)``, ``(gates * H, out)``, their biases, ``(out, H)``."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None
    hidden_bias: Tensor | None
    projection: Tensor | None

    @property
    def recurrent(self) -> tuple[Tensor, ...]:
        """Matrices that every step multiplies by."""
        return (self.hidden,) if self.projection is None else (self.hidden, self.projection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Sizes and formats of the steps of one direction.

    ``backward_steps`` is how many dgrads of the state run: the first state needs no gradient unless the
    layer is given one that does.
    """

    cell: Cell
    steps: int
    batch: int
    hidden: int
    out: int
    backward_steps: int
    compute: DType
    itemsize: int

    @property
    def wide(self) -> int:
        """Width of all gates."""
        return self.cell.gates * self.hidden

    @property
    def products(self) -> tuple[GemmShape, ...]:
        """The products of one forward step: the state's, and the projection's where there is one."""
        state = GemmShape(1, self.batch, self.wide, self.out)
        if self.out == self.hidden:
            return (state,)
        return (state, GemmShape(1, self.batch, self.out, self.hidden))
