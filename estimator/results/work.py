"""The result of ``estimator layers``: the work of one batch, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from estimator.results.base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One layer call; ``forward_flops`` are 2 a multiply-add, ``macs`` half of them."""

    path: str
    type: str
    output_shape: tuple[int, ...]
    parameters: int
    forward_flops: int
    backward_flops: int
    macs: int
    elementwise_flops: int
    forward_bytes: int
    backward_bytes: int
    saved_bytes: int
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTotal:
    """The sums over all layers."""

    parameters: int
    forward_flops: int
    backward_flops: int
    training_flops: int
    macs: int
    elementwise_flops: int
    forward_bytes: int
    backward_bytes: int
    saved_bytes: int
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersResult(Result):
    """The work of ``network`` at ``batch`` samples."""

    schema: ClassVar[str] = "estimator/layers/1"
    main_rows: ClassVar[str] = "layers"

    network: str
    batch: int
    precision: str
    layers: tuple[LayerRow, ...]
    total: WorkTotal
    warnings: tuple[str, ...] = ()
