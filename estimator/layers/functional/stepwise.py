"""Recurrent layers step by step: a product and a cell kernel each, and a dgrad and a wgrad backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.workload.build import product, traffic
from estimator.workload.kernel import GemmShape, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.functional.cells import CellWeights, Steps
    from estimator.layers.tape import Tape
    from estimator.workload.kernel import Kernel


def stepwise_forward(tape: Tape, run: Steps) -> None:
    """Launch a product and the cell's arithmetic for each step, one after the other."""
    products = [_step_product("recurrent_linear", Phase.FORWARD, shape, run) for shape in run.products]
    cell = cell_kernel(run, Phase.FORWARD)
    for _ in range(run.steps):
        tape.emit(products[0])
        tape.emit(cell)
        for projection in products[1:]:
            tape.emit(projection)


def stepwise_backward(tape: Tape, run: Steps, weights: CellWeights) -> None:
    """Launch the backward of each step; weight gradients are made a step at a time and added up."""
    cell = cell_kernel(run, Phase.DGRAD)
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


def _step_product(name: str, phase: Phase, shape: GemmShape, run: Steps) -> Kernel:
    weight = "out" if phase is Phase.WGRAD else "b"
    return product(name, phase, shape, compute=run.compute, itemsize=run.itemsize, weight=weight)


def cell_kernel(run: Steps, phase: Phase) -> Kernel:
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
