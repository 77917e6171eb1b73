"""The software a training step runs on: framework mode, memory layout, attention kernel, era."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """How a framework turns layers into kernels."""

    EAGER = "eager"
    FUSED = "fused"
    COMPILED = "compiled"


class Layout(StrEnum):
    """The order of an image tensor in memory."""

    CHANNELS_FIRST = "channels_first"
    CHANNELS_LAST = "channels_last"


class AttentionKernel(StrEnum):
    """Whether attention writes its T x T matrix (math) or never does (flash)."""

    MATH = "math"
    FLASH = "flash"


class OptimizerKernels(StrEnum):
    """How an optimizer visits the parameters: one by one, in lists, or in one pass over all."""

    SINGLE = "single"
    FOREACH = "foreach"
    FUSED = "fused"


CURRENT_ERA = 2025
FOREACH_SINCE = 2023  # PyTorch 2.0: foreach optimizers on GPUs, gradients freed instead of zeroed


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """Settings that decide which kernels are launched, and how well they run.

    ``framework`` is the label efficiencies are calibrated by (pytorch, tensorflow, jax, caffe, …);
    ``era`` the year of its release: it decides which fused kernels exist.
    """

    framework: str = "pytorch"
    mode: Mode = Mode.EAGER
    layout: Layout = Layout.CHANNELS_FIRST
    attention: AttentionKernel = AttentionKernel.FLASH
    optimizer: OptimizerKernels = OptimizerKernels.FOREACH
    era: int = CURRENT_ERA
