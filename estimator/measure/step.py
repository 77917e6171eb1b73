"""A real training step: the network's module, random data, loss and optimizer, in marked phases."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimator.errors import MeasurementError
from estimator.measure.calls import node_calls
from estimator.measure.framework import import_torch
from estimator.measure.inputs import random_inputs, torch_dtype
from estimator.measure.optimizers import build_optimizer
from estimator.networks.training import Checkpointing
from estimator.precision import DType
from estimator.software import Layout, Mode

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from estimator.measure.clock import Clock
    from estimator.measure.framework import Torch
    from estimator.networks.graph import Network
    from estimator.networks.training import Training

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
_SEED = 0


@dataclass(slots=True)
class Span:
    """A part of a step between two marks of the clock."""

    phase: str
    start: object
    end: object


class TrainingStep:
    """Everything a step needs, on its device; ``run`` does one step and returns its marked phases."""

    def __init__(self, network: Network, training: Training, device: Torch) -> None:
        """Build the modules in place on the device; raises MeasurementError for what cannot be measured."""
        _refuse(training)
        torch = import_torch()
        from estimator.measure.modules.graph import GraphModule

        self.training, self.device = training, device
        torch.manual_seed(_SEED)
        _allow_tf32(torch, allowed=training.precision.product is DType.TF32)
        calls = node_calls(network, training)
        with torch.device(device):
            self.graph = GraphModule(network, calls, training).to(torch_dtype(training.precision.weights))
        self.inputs = random_inputs(network, training, calls, device)
        if training.software.layout is Layout.CHANNELS_LAST:
            self.graph = self.graph.to(memory_format=torch.channels_last)
            self.inputs = tuple(_images_last(torch, x) for x in self.inputs)
        self.graph.train(training.training)
        self.model: Torch = self.graph
        self.optimizer = build_optimizer(training, self.graph.parameters())
        self.loss: Torch = None
        scaled = training.precision.loss_scaling and training.training
        self.scaler = torch.amp.GradScaler(device.type, enabled=True) if scaled else None
        if training.software.mode is Mode.COMPILED:
            self.model = torch.compile(self.graph)

    @property
    def parameters(self) -> int:
        """Elements of all weights, shared ones once."""
        return sum(p.numel() for p in self.graph.parameters())

    def wrap(self, wrapper: Callable[[Torch], Torch]) -> None:
        """Put another module around the network's: what exchanges gradients."""
        self.model = wrapper(self.model)

    def run(self, clock: Clock) -> list[Span]:
        """Do one step and return its phases."""
        torch = import_torch()
        if not self.training.training:
            return self._infer(torch, clock)
        spans: list[Span] = []
        for micro in range(self.training.accumulation):
            last = micro == self.training.accumulation - 1
            with self._without_exchange(last=last):
                start = clock.mark()
                with self._autocast(torch):
                    loss = self.model(*self.inputs)
                middle = clock.mark()
                (self.scaler.scale(loss) if self.scaler else loss).backward()
                end = clock.mark()
            spans += [Span(FORWARD, start, middle), Span(BACKWARD, middle, end)]
            self.loss = loss.detach()
            del loss
        start = clock.mark()
        self._update()
        spans.append(Span(OPTIMIZER, start, clock.mark()))
        return spans

    def _update(self) -> None:
        if self.optimizer is None:
            self.graph.zero_grad(set_to_none=True)
            return
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _infer(self, torch: Torch, clock: Clock) -> list[Span]:
        start = clock.mark()
        with torch.inference_mode(), self._autocast(torch):
            self.loss = self.model(*self.inputs)
        return [Span(FORWARD, start, clock.mark())]

    def _autocast(self, torch: Torch) -> AbstractContextManager[Any]:
        policy = self.training.precision
        if not policy.autocast:
            return nullcontext()
        cast: AbstractContextManager[Any] = torch.autocast(
            self.device.type, dtype=torch_dtype(policy.product)
        )
        return cast

    def _without_exchange(self, *, last: bool) -> AbstractContextManager[Any]:
        """Return a context in which gradients only add up, as all but the last pass of a step do."""
        hold = getattr(self.model, "no_sync", None)
        return nullcontext() if last or hold is None else hold()

    def check_loss(self) -> None:
        """Raise MeasurementError where the loss is no finite number: times of such steps say little."""
        if self.loss is not None and not bool(self.loss.isfinite().all()):
            raise MeasurementError(
                f"the loss is {float(self.loss):g}: the network overflows in {self.training.precision.name}",
                hint="measure with --precision fp32 or amp-bf16",
            )


def _refuse(training: Training) -> None:
    """Raise MeasurementError for recipes that are predicted but not measured here."""
    if training.checkpointing is not Checkpointing.NONE:
        raise MeasurementError("checkpointed steps are not measured", hint="measure without --checkpointing")
    if training.precision.product is DType.FP8:
        raise MeasurementError(
            "fp8 products need Transformer Engine, which is not used here",
            hint="measure with --precision bf16",
        )
    if training.software.mode is Mode.FUSED:
        raise MeasurementError(
            "mode fused is no PyTorch mode", hint="measure with --mode eager or --mode compiled"
        )


def _allow_tf32(torch: Torch, *, allowed: bool) -> None:
    """Set what fp32 products may be computed in."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def _images_last(torch: Torch, x: Torch) -> Torch:
    image = 4
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == image else x
