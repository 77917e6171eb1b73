"""The training recipe: everything about a run that is neither the network nor the hardware."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from estimator.networks.optimizers import OPTIMIZERS
from estimator.precision import POLICIES
from estimator.software import Software

if TYPE_CHECKING:
    from estimator.layers.tape import Setting
    from estimator.networks.optimizers import OptimizerRule
    from estimator.precision import PrecisionPolicy

DEFAULT_BATCH = 32
DEFAULT_PRECISION = "fp32"
DEFAULT_OPTIMIZER = "momentum"


class Checkpointing(StrEnum):
    """Which activations are kept: all, or only the inputs of blocks, whose forward then runs twice."""

    NONE = "none"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A recipe. ``batch`` is the samples one device processes in a forward pass (the micro-batch).

    A step is ``accumulation`` such passes on each of ``replicas`` devices and one optimizer update. A run
    is ``epochs`` over ``samples`` or a number of ``steps``. ``training`` False means inference: forward
    only. ``images_per_s`` is what the input pipeline delivers, None when it never limits.
    """

    batch: int = DEFAULT_BATCH
    precision: PrecisionPolicy = field(default_factory=lambda: POLICIES.get(DEFAULT_PRECISION))
    optimizer: OptimizerRule = field(default_factory=lambda: OPTIMIZERS.get(DEFAULT_OPTIMIZER))
    software: Software = field(default_factory=Software)
    accumulation: int = 1
    checkpointing: Checkpointing = Checkpointing.NONE
    replicas: int = 1
    epochs: float | None = None
    steps: int | None = None
    samples: int | None = None
    validation_share: float = 0.0
    images_per_s: float | None = None
    training: bool = True

    def setting(self) -> Setting:
        """Return what of the recipe decides a layer's kernels."""
        from estimator.layers.tape import Setting

        return Setting(policy=self.precision, software=self.software, training=self.training)
