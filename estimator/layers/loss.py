"""Losses: what the network's output is compared by; a target that is not given is implied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from estimator.layers.arguments import PositiveFloat, Share
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional import losses
from estimator.precision import DType

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor

Reduced: TypeAlias = Literal["mean", "sum", "none"]

_CLASSES = Example(((4, 10),))
_VALUES = Example(((4, 6),))


def class_target(layer: Layer, tape: Tape, inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, int]:
    """Return logits, target and the dimension of the classes: the second, or the only one."""
    x, *others = inputs
    if not x.shape:
        raise LayerError(f"{layer.type_name}: needs (batch, classes, *), got a single number")
    dim = 1 if len(x.shape) > 1 else 0
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    if not others:
        return x, tape.new(shape, DType.INT64, requires_grad=False), dim
    (target,) = others
    if target.shape != (x.shape if target.dtype.is_floating else shape):
        raise LayerError(
            f"{layer.type_name}: the target {list(target.shape)} does not match the input {list(x.shape)}"
        )
    return x, target, dim


def value_target(layer: Layer, tape: Tape, inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Return input and target of one shape."""
    x, *others = inputs
    if not others:
        return x, tape.new(x.shape, x.dtype, requires_grad=False)
    (target,) = others
    if target.shape != x.shape:
        raise LayerError(f"{layer.type_name}: shapes {list(x.shape)} and {list(target.shape)} do not match")
    return x, target


@register("CrossEntropyLoss", _CLASSES)
@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEntropyLoss(Layer):
    """``(N, C, *) of logits [, classes (N, *) or probabilities (N, C, *)] -> ()``."""

    reduction: Reduced = "mean"
    label_smoothing: Share = 0.0
    ignore_index: int = -100

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target, dim = class_target(self, tape, inputs)
        return losses.cross_entropy(
            tape, x, target, dim=dim, reduction=self.reduction, label_smoothing=self.label_smoothing
        )


@register("NLLLoss", _CLASSES)
@dataclass(frozen=True, slots=True, kw_only=True)
class NLLLoss(Layer):
    """``(N, C, *) of log-probabilities [, classes (N, *)] -> ()``."""

    reduction: Reduced = "mean"
    ignore_index: int = -100

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target, _ = class_target(self, tape, inputs)
        return losses.nll_loss(tape, x, target, reduction=self.reduction)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLoss(Layer):
    """``(*) [, target (*)] -> ()``, by a kernel of its own."""

    function: ClassVar[str]

    reduction: Reduced = "mean"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target = value_target(self, tape, inputs)
        return losses.pairwise_loss(tape, x, target, self.function, reduction=self.reduction)


@register("MSELoss", _VALUES)
class MSELoss(PairLoss):
    """The squared difference."""

    function = "mse_loss"


@register("SmoothL1Loss", _VALUES)
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothL1Loss(PairLoss):
    """The difference, squared where small."""

    function = "smooth_l1_loss"

    beta: PositiveFloat = 1.0


@register("HuberLoss", _VALUES)
@dataclass(frozen=True, slots=True, kw_only=True)
class HuberLoss(PairLoss):
    """The difference, squared where small."""

    function = "huber_loss"

    delta: PositiveFloat = 1.0


@register("BCELoss", _VALUES)
class BCELoss(PairLoss):
    """Binary cross-entropy of probabilities."""

    function = "binary_cross_entropy"


@register("L1Loss", _VALUES)
@dataclass(frozen=True, slots=True, kw_only=True)
class L1Loss(Layer):
    """The absolute difference."""

    reduction: Reduced = "mean"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target = value_target(self, tape, inputs)
        return losses.l1_loss(tape, x, target, reduction=self.reduction)


@register("BCEWithLogitsLoss", _VALUES)
@dataclass(frozen=True, slots=True, kw_only=True)
class BCEWithLogitsLoss(Layer):
    """Binary cross-entropy of logits."""

    reduction: Reduced = "mean"

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target = value_target(self, tape, inputs)
        return losses.bce_with_logits(tape, x, target, reduction=self.reduction)


@register("KLDivLoss", _VALUES)
@dataclass(frozen=True, slots=True, kw_only=True)
class KLDivLoss(Layer):
    """The Kullback-Leibler divergence of log-probabilities from a target distribution."""

    reduction: Literal["mean", "batchmean", "sum", "none"] = "mean"
    log_target: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Compare."""
        x, target = value_target(self, tape, inputs)
        return losses.kl_div(tape, x, target, reduction=self.reduction, log_target=self.log_target)
