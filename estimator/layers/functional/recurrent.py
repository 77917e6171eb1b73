"""A recurrent layer in one direction: the product for all inputs, then steps that wait for each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.layers.functional.cells import Steps
from estimator.layers.functional.pointwise import cast
from estimator.layers.functional.products import (
    bias_gradient,
    linear,
    product_inputs,
)
from estimator.layers.functional.stepwise import cell_kernel, stepwise_backward, stepwise_forward
from estimator.workload.build import product
from estimator.workload.kernel import GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.layers.functional.cells import Cell, CellWeights
    from estimator.layers.tape import Tape, Tensor


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
    run = Steps(
        cell=cell, steps=steps, batch=batch, hidden=weights.hidden.shape[0] // cell.gates,
        out=weights.hidden.shape[1],
        backward_steps=steps if state is not None and state.requires_grad else steps - 1,
        compute=compute, itemsize=out_dtype.itemsize,
    )  # fmt: skip
    out = tape.new(
        (steps, batch, run.out), out_dtype, requires_grad=gates.requires_grad or weights.hidden.requires_grad
    )
    (_fused_forward if fused else stepwise_forward)(tape, run)
    if out.requires_grad:
        _keep(tape, run, state, recurrent)
        (_fused_backward if fused else stepwise_backward)(tape, run, weights)
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
    run = Steps(
        cell=cell, steps=1, batch=batch, hidden=hidden, out=hidden, backward_steps=0,
        compute=gates.dtype, itemsize=gates.dtype.itemsize,
    )  # fmt: skip
    tape.emit(cell_kernel(run, Phase.FORWARD))
    if out.requires_grad:
        tape.emit(cell_kernel(run, Phase.DGRAD))
        entering = cell.states - 1  # a zero cell state is the same tensor as the zero hidden state
        tape.save_bytes((cell.kept - entering) * batch * hidden * run.itemsize)
        if cell.kept == 0:
            tape.save(out)
    return out


def _keep(tape: Tape, run: Steps, state: Tensor | None, recurrent: Iterable[Tensor]) -> None:
    """Keep what the steps leave: each its ``kept`` values and the state that enters it."""
    for weight in recurrent:
        tape.save(weight)
    entering = run.steps
    if state is not None:
        tape.save(state)
        entering -= 1
    if run.cell.kept == 0:
        entering += 1  # the last output
    inner = run.cell.kept + (1 if run.out != run.hidden else 0)  # the output before its projection
    per_sample = inner * run.steps * run.hidden + entering * run.out
    tape.save_bytes(per_sample * run.batch * run.itemsize)


def _fused_forward(tape: Tape, run: Steps) -> None:
    """Put the recurrent kernel on the tape: each step reads the weights again."""
    points = run.steps * run.batch
    kept = run.cell.kept * run.hidden
    tape.emit(
        _recurrence(
            run, Phase.FORWARD, flops=run.steps * sum(p.flops for p in run.products),
            read=points * run.wide, written=points * (run.out + kept),
        )
    )  # fmt: skip


def _fused_backward(tape: Tape, run: Steps, weights: CellWeights) -> None:
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


def _recurrence(run: Steps, phase: Phase, *, flops: int, read: int, written: int) -> Kernel:
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
