"""Layers for what no other layer is: work of stated size, and work that cannot be spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.layers.arguments import Count, Sizes
from estimator.layers.base import Example, Layer, register
from estimator.workload.kernel import Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


@register("Custom", Example(((4, 8),), {"out_shape": (6,), "params": 30, "flops": 100, "bytes": 200}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(Layer):
    """Anything else: ``(N, *) -> (N, *out_shape)`` with stated FLOPs and bytes a sample, forward.

    The backward does the forward's work once for the input's gradient and, with parameters, once for
    theirs; ``backward_flops`` and ``backward_bytes`` say otherwise. The input is kept.
    """

    out_shape: Sizes
    params: Count = 0
    flops: Count = 0
    bytes: Count = 0
    backward_flops: Count | None = None
    backward_bytes: Count | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Do the stated work."""
        batch = inputs[0].shape[0] if inputs and inputs[0].shape else 1
        weights = [tape.weight("weight", (self.params,))] if self.params else []
        grad = any(x.requires_grad for x in (*inputs, *weights))
        out = tape.new((batch, *self.out_shape), tape.policy.activations, requires_grad=grad)
        tape.emit(self._work(out, Phase.FORWARD, batch * self.flops, batch * self.bytes))
        if not grad:
            return out
        for x in inputs:
            tape.save(x)
        phases = [Phase.DGRAD] if any(x.requires_grad for x in inputs) else []
        phases += [Phase.WGRAD] if weights and weights[0].requires_grad else []
        share = len(phases)
        for phase in phases:
            flops = self.flops if self.backward_flops is None else self.backward_flops / share
            size = self.bytes if self.backward_bytes is None else self.backward_bytes / share
            tape.emit(self._work(out, phase, round(batch * flops), round(batch * size)))
        return out

    @staticmethod
    def _work(out: Tensor, phase: Phase, flops: int, size: int) -> Kernel:
        """Return the kernel; of the bytes the output is written and the rest is read."""
        written = min(size, out.bytes)
        name = "custom" if phase is Phase.FORWARD else f"custom_{phase.value}"
        return Kernel(
            name=name, op=Op.CUSTOM, phase=phase, compute=out.dtype, flops=flops, bytes_read=size - written,
            bytes_written=written, elements=out.numel,
        )  # fmt: skip


@register("Serial", Example(((4, 8),), {"steps": 100, "flops_per_step": 3}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Serial(Layer):
    """Work that cannot be spread: so many steps, each waiting for the one before; the input passes through.

    The steps are those of a whole training step, whatever the batch.
    """

    steps: Count
    flops_per_step: Count = 1

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Do the steps."""
        (x,) = inputs
        tape.emit(
            Kernel(
                name="serial", op=Op.SERIAL, phase=Phase.FORWARD, compute=x.dtype,
                flops=self.steps * self.flops_per_step, elements=self.steps, serial_steps=max(1, self.steps),
            )
        )  # fmt: skip
        return tape.view(x, x.shape, x.strides)
