"""The recipe's optimizer as one of torch.optim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.errors import MeasurementError
from estimator.measure.framework import import_torch
from estimator.software import OptimizerKernels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from estimator.measure.framework import Torch
    from estimator.networks.training import Training

# So small that no network diverges while it is timed: the time of an update does not hang on it.
_RATE = 1e-6
_CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {}),
    "adamw": ("AdamW", {"weight_decay": 0.01}),
    "rmsprop": ("RMSprop", {}),
    "adagrad": ("Adagrad", {}),
    "adafactor": ("Adafactor", {}),
}


def build_optimizer(training: Training, parameters: Iterable[Torch]) -> Torch | None:
    """Return the optimizer, None where nothing is updated; MeasurementError for one PyTorch lacks."""
    torch = import_torch()
    updated = [p for p in parameters if p.requires_grad]
    rule, kernels = training.optimizer.name, training.software.optimizer
    if not updated or rule == "none" or not training.training:
        return None
    if rule == "lion":
        return _lion(torch, updated)
    if rule not in _CHOICES or not hasattr(torch.optim, _CHOICES[rule][0]):
        raise MeasurementError(
            f"this PyTorch has no optimizer {rule!r}", hint="measure with --optimizer adamw, a like one"
        )
    name, arguments = _CHOICES[rule]
    ways = {"foreach": kernels is OptimizerKernels.FOREACH}
    if kernels is OptimizerKernels.FUSED and name in ("SGD", "Adam", "AdamW", "Adagrad"):
        ways = {"fused": True}
    return getattr(torch.optim, name)(updated, lr=_RATE, **arguments, **ways)


def _lion(torch: Torch, parameters: list[Torch]) -> Torch:
    """Return Lion (Chen et al., arXiv:2302.06675), which torch.optim does not have."""

    class Lion(torch.optim.Optimizer):  # type: ignore[misc]
        """Sign of an interpolated momentum."""

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def step(self) -> None:
            for p in parameters:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                update = torch.lerp(p.grad, state["m"], 0.9).sign_()
                p.add_(update, alpha=-_RATE)
                state["m"].lerp_(p.grad, 0.01)

    return Lion(parameters, {})
