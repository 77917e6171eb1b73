"""One kernel: a piece of work that a framework launches, described without any hardware."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from estimator.precision import DType


GROUPED = "grouped_"  # begins the names of products that many experts' weights share a kernel of
IN_PLACE = "_"  # ends the names of kernels that write over what they read, as in torch: relu_
FRESH = "_new"  # ends the names of optimizer kernels whose results are memory mapped afresh


class Op(StrEnum):
    """Kernel classes: kernels of one class are limited by the same thing on a device."""

    GEMM = "gemm"  # activations times a weight
    BMM = "bmm"  # batched product of two activations
    CONV = "conv"  # dense convolution
    GROUPED = "grouped"  # 1 < groups < channels
    DEPTHWISE = "depthwise"  # one input channel a group
    ATTENTION = "attention"  # fused (flash) attention
    BATCH_NORM = "batch_norm"
    LAYER_NORM = "layer_norm"
    GROUP_NORM = "group_norm"
    SOFTMAX = "softmax"
    ELEMENTWISE = "elementwise"  # also bias, casts, dropout
    REDUCTION = "reduction"
    POOL = "pool"  # pooling, up-sampling
    GATHER = "gather"  # embedding look-up, indexing
    SCATTER = "scatter"  # embedding gradient
    CONCAT = "concat"  # cat, stack, pad, split backward
    TRANSPOSE = "transpose"  # layout change that moves data
    COPY = "copy"
    RECURRENT = "recurrent"  # fused recurrent layer, steps in serial_steps
    OPTIMIZER = "optimizer"
    SERIAL = "serial"  # cannot be spread over lanes
    CUSTOM = "custom"


class Phase(StrEnum):
    """The part of a training step a kernel belongs to."""

    FORWARD = "forward"
    DGRAD = "dgrad"
    WGRAD = "wgrad"
    RECOMPUTE = "recompute"  # forward work done again in the backward pass under checkpointing
    OPTIMIZER = "optimizer"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class GemmShape:
    """``batch`` products of (m, k) by (k, n)."""

    batch: int
    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        """Two a multiply-add."""
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution ``(n, c_in, *size_in) -> (n, c_out, *size_out)``, as its forward pass sees it."""

    n: int
    c_in: int
    c_out: int
    groups: int
    size_in: tuple[int, ...]
    size_out: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool = False

    @property
    def flops(self) -> int:
        """Two a multiply-add; a transposed convolution spreads each input point, so counts input points."""
        points = self.size_in if self.transposed else self.size_out
        width = self.c_out if self.transposed else self.c_in
        lanes = self.c_in if self.transposed else self.c_out
        return 2 * self.n * prod(points) * lanes * (width // self.groups) * prod(self.kernel)


Shape: TypeAlias = GemmShape | ConvShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Work of one launch (or of ``launches`` equal, consecutive ones, then all figures are their sum).

    ``flops``: 2 a multiply-add of products only, the headline count; ``elementwise_flops``: all other
    arithmetic; bytes are compulsory traffic to memory; ``weight_bytes`` the part of ``bytes_read`` that is
    parameters; ``elements`` the elements visited (window elements for pooling); ``compute`` the format of
    the arithmetic; ``serial_steps`` how many parts must wait for each other; ``work_share`` the part of
    ``flops`` that a kernel really does where the count is by convention (fused causal attention).
    """

    name: str
    op: Op
    phase: Phase
    compute: DType
    flops: int = 0
    elementwise_flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    weight_bytes: int = 0
    elements: int = 0
    shape: Shape | None = None
    launches: int = 1
    serial_steps: int = 1
    work_share: float = 1.0

    @property
    def bytes(self) -> int:
        """Traffic in both directions."""
        return self.bytes_read + self.bytes_written
