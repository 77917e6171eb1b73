"""A recurrent layer in one direction: the product for all inputs, then steps that wait for each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.layers.functional.pointwise import cast
from estimator.layers.functional.products import (
    bias_gradient,
    linear,
    product_inputs,
    save_cast_weight,
)
from estimator.workload.build import product, traffic
from estimator.workload.kernel import GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.layers.tape import Tape, Tensor
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
class _Steps:
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


def run_direction(
    tape: Tape,
    x: Tensor,
    weights: CellWeights,
    cell: Cell,
    state: Tensor | None = None,
    *,
    fused: bool = True,
) -> Tensor:
    """Return ``(T, N, out)`` of a sequence ``(T, N, in)``; ``state`` is the initial one, else zeros.

    Fused is what cuDNN does: one product for the inputs of all steps, then one recurrent kernel of T serial
    steps, and backward one recurrent kernel and one weight gradient over all steps. Un-fused launches a
    product and a cell kernel each step, and in the backward a dgrad and a wgrad each step. What is kept is
    the same for both: PyTorch's native cells state it exactly, cuDNN's reserve space holds the same values.
    """
    steps, batch, _ = x.shape
    gates = linear(tape, x, weights.input, weights.input_bias)
    compute, out_dtype, recurrent = product_inputs(tape, *weights.recurrent)
    if weights.hidden_bias is not None:
        weights = replace(weights, hidden_bias=cast(tape, weights.hidden_bias, out_dtype))
    run = _Steps(
        cell=cell, steps=steps, batch=batch, hidden=weights.hidden.shape[0] // cell.gates,
        out=weights.hidden.shape[1],
        backward_steps=steps if state is not None and state.requires_grad else steps - 1,
        compute=compute, itemsize=out_dtype.itemsize,
    )  # fmt: skip
    out = tape.new(
        (steps, batch, run.out), out_dtype, requires_grad=gates.requires_grad or weights.hidden.requires_grad
    )
    (_fused_forward if fused else _stepwise_forward)(tape, run)
    if out.requires_grad:
        _keep(tape, run, state, recurrent)
        (_fused_backward if fused else _stepwise_backward)(tape, run, weights)
        if weights.hidden_bias is not None and weights.hidden_bias.requires_grad:
            bias_gradient(tape, gates, weights.hidden_bias)
    return out


def run_cell(tape: Tape, x: Tensor, weights: CellWeights, cell: Cell, states: tuple[Tensor, ...]) -> Tensor:
    """Return ``(N, H)`` after one step from ``(N, in)``; zeros stand for states that are not given."""
    gates = linear(tape, x, weights.input, weights.input_bias)
    (batch, _), hidden = x.shape, weights.hidden.shape[1]
    state = states[0] if states else tape.new((batch, hidden), x.dtype, requires_grad=False)
    from_state = linear(tape, state, weights.hidden, weights.hidden_bias)
    for kept in states[1:]:
        tape.save(kept)
    out = tape.new(
        (batch, hidden), gates.dtype, requires_grad=gates.requires_grad or from_state.requires_grad
    )
    run = _Steps(
        cell=cell, steps=1, batch=batch, hidden=hidden, out=hidden, backward_steps=0,
        compute=gates.dtype, itemsize=gates.dtype.itemsize,
    )  # fmt: skip
    tape.emit(_cell_kernel(run, Phase.FORWARD))
    if out.requires_grad:
        tape.emit(_cell_kernel(run, Phase.DGRAD))
        entering = cell.states - 1  # a zero cell state is the same tensor as the zero hidden state
        tape.save_bytes((cell.kept - entering) * batch * hidden * run.itemsize)
        if cell.kept == 0:
            tape.save(out)
    return out


def _keep(tape: Tape, run: _Steps, state: Tensor | None, recurrent: Iterable[Tensor]) -> None:
    """Keep what the steps leave: each its ``kept`` values and the state that enters it."""
    for weight in recurrent:
        save_cast_weight(tape, weight)
    entering = run.steps
    if state is not None:
        tape.save(state)
        entering -= 1
    if run.cell.kept == 0:
        entering += 1  # the last output
    inner = run.cell.kept + (1 if run.out != run.hidden else 0)  # the output before its projection
    per_sample = inner * run.steps * run.hidden + entering * run.out
    tape.save_bytes(per_sample * run.batch * run.itemsize)


def _fused_forward(tape: Tape, run: _Steps) -> None:
    """Put the recurrent kernel on the tape: each step reads the weights again."""
    points = run.steps * run.batch
    kept = run.cell.kept * run.hidden
    tape.emit(
        _recurrence(
            run, Phase.FORWARD, flops=run.steps * sum(p.flops for p in run.products),
            read=points * run.wide, written=points * (run.out + kept),
        )
    )  # fmt: skip


def _fused_backward(tape: Tape, run: _Steps, weights: CellWeights) -> None:
    """Put the backward recurrent kernel and the weight gradients over all steps on the tape."""
    points = run.steps * run.batch
    state, *projection = run.products
    flops = run.backward_steps * state.flops + run.steps * sum(p.flops for p in projection)
    tape.emit(
        _recurrence(
            run, Phase.DGRAD, flops=flops,
            read=points * (run.cell.kept * run.hidden + run.out), written=points * run.wide,
        )
    )  # fmt: skip
    for weight in weights.recurrent:
        if weight.requires_grad:
            shape = GemmShape(1, weight.shape[0], weight.shape[1], points)
            tape.emit(
                product(
                    "recurrent_wgrad", Phase.WGRAD, shape, compute=run.compute, itemsize=run.itemsize,
                    weight="out",
                )
            )  # fmt: skip


def _recurrence(run: _Steps, phase: Phase, *, flops: int, read: int, written: int) -> Kernel:
    weight_bytes = run.steps * run.itemsize * sum(p.n * p.k for p in run.products)
    elements = run.steps * run.batch * run.hidden
    return Kernel(
        name=f"{run.cell.name}_recurrence" + ("" if phase is Phase.FORWARD else f"_{phase.value}"),
        op=Op.RECURRENT,
        phase=phase,
        compute=run.compute,
        flops=flops,
        elementwise_flops=elements * run.cell.flops * (1 if phase is Phase.FORWARD else 2),
        bytes_read=read * run.itemsize + weight_bytes,
        bytes_written=written * run.itemsize,
        weight_bytes=weight_bytes,
        elements=elements,
        shape=GemmShape(run.steps, run.batch, run.wide, run.out),
        serial_steps=run.steps,
    )


def _stepwise_forward(tape: Tape, run: _Steps) -> None:
    """Launch a product and the cell's arithmetic for each step, one after the other."""
    products = [_step_product("recurrent_linear", Phase.FORWARD, shape, run) for shape in run.products]
    cell = _cell_kernel(run, Phase.FORWARD)
    for _ in range(run.steps):
        tape.emit(products[0])
        tape.emit(cell)
        for projection in products[1:]:
            tape.emit(projection)


def _stepwise_backward(tape: Tape, run: _Steps, weights: CellWeights) -> None:
    """Launch the backward of each step; weight gradients are made a step at a time and added up."""
    cell = _cell_kernel(run, Phase.DGRAD)
    dgrads = [
        _step_product("recurrent_dgrad", Phase.DGRAD, GemmShape(1, p.m, p.k, p.n), run) for p in run.products
    ]
    wgrads = [
        kernel
        for p, weight in zip(run.products, weights.recurrent, strict=True)
        if weight.requires_grad
        for kernel in (
            _step_product("recurrent_wgrad", Phase.WGRAD, GemmShape(1, p.n, p.k, p.m), run),
            traffic(
                "add_gradient", Op.ELEMENTWISE, Phase.WGRAD, compute=weight.dtype, read=2 * weight.bytes,
                written=weight.bytes, elements=weight.numel,
            ),
        )
    ]  # fmt: skip
    for step in range(run.steps):
        for projection in dgrads[1:]:
            tape.emit(projection)
        tape.emit(cell)
        if step < run.backward_steps:
            tape.emit(dgrads[0])
        for kernel in wgrads:
            tape.emit(kernel)


def _step_product(name: str, phase: Phase, shape: GemmShape, run: _Steps) -> Kernel:
    weight = "out" if phase is Phase.WGRAD else "b"
    return product(name, phase, shape, compute=run.compute, itemsize=run.itemsize, weight=weight)


def _cell_kernel(run: _Steps, phase: Phase) -> Kernel:
    """Return the fused element-wise kernel of one step: gates from input and state, states, what is kept."""
    unit = run.batch * run.hidden * run.itemsize
    both_gates, states, kept = 2 * run.cell.gates, run.cell.states, run.cell.kept
    forward = phase is Phase.FORWARD
    return traffic(
        f"{run.cell.name}_cell" if forward else f"{run.cell.name}_cell_backward",
        Op.ELEMENTWISE,
        phase,
        compute=run.compute,
        read=unit * (both_gates + states if forward else kept + 2 * states),
        written=unit * (states + kept if forward else run.cell.gates + states),
        elements=run.batch * run.hidden,
        flops_per_element=run.cell.flops * (1 if forward else 2),
    )
