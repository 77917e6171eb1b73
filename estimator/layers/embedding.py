"""Layers that hold values to look up or to use as they are: Embedding, EmbeddingBag, Parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from estimator.layers.arguments import AnyFloat, Positive, PositiveFloat, Sizes
from estimator.layers.base import Example, Layer, LayerError, register
from estimator.layers.functional.indexing import embedding, embedding_bag
from estimator.layers.functional.movement import expand
from estimator.precision import DType

if TYPE_CHECKING:
    from estimator.layers.tape import Tape, Tensor


def check_indices(layer: Layer, indices: Tensor) -> None:
    """Refuse values that cannot be indices."""
    if indices.dtype not in (DType.INT64, DType.INT32):
        raise LayerError(
            f"{layer.type_name}: needs whole numbers as input, got {indices.dtype}",
            hint="give the input dtype: int64",
        )


@register("Embedding", Example(((4, 6),), {"num_embeddings": 100, "embedding_dim": 8}, dtype=DType.INT64))
@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding(Layer):
    """``(*) of indices -> (*, embedding_dim)``."""

    num_embeddings: Positive
    embedding_dim: Positive
    padding_idx: int | None = None
    max_norm: PositiveFloat | None = None
    norm_type: AnyFloat = 2.0
    scale_grad_by_freq: bool = False
    sparse: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look the rows up."""
        (indices,) = inputs
        check_indices(self, indices)
        weight = _table(tape, indices, self)
        return embedding(tape, indices, weight, sparse=self.sparse)


@register("EmbeddingBag", Example(((4, 6),), {"num_embeddings": 100, "embedding_dim": 8}, dtype=DType.INT64))
@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBag(Layer):
    """``(N, L) of indices -> (N, embedding_dim)``, or ``(indices), (N) of offsets``."""

    num_embeddings: Positive
    embedding_dim: Positive
    max_norm: PositiveFloat | None = None
    norm_type: AnyFloat = 2.0
    scale_grad_by_freq: bool = False
    mode: Literal["sum", "mean", "max"] = "mean"
    sparse: bool = False
    include_last_offset: bool = False
    padding_idx: int | None = None

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Look the rows up and combine those of a bag."""
        indices, *others = inputs
        check_indices(self, indices)
        offsets = others[0] if others else None
        if offsets is None and len(indices.shape) != 2:  # noqa: PLR2004  (N, L)
            raise LayerError(
                f"EmbeddingBag: indices of shape {list(indices.shape)} need offsets",
                hint="give indices as (batch, length), or the offsets of the bags as a second input",
            )
        bags = indices.shape[0] if offsets is None else offsets.numel - self.include_last_offset
        weight = _table(tape, indices, self)
        return embedding_bag(
            tape, indices, weight, bags=bags, mode=self.mode, offsets=offsets, sparse=self.sparse
        )


def _table(tape: Tape, indices: Tensor, layer: Embedding | EmbeddingBag) -> Tensor:
    """Return the table; a sparse gradient holds one row an index, and at most all rows."""
    rows = min(indices.numel, layer.num_embeddings)
    touched = rows * layer.embedding_dim if layer.sparse else None
    return tape.weight("weight", (layer.num_embeddings, layer.embedding_dim), touched=touched)


@register("Parameter", Example((), {"shape": (6, 8)}))
@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(Layer):
    """A learned tensor of this shape, the same for all samples; it needs no input.

    ``per_sample`` repeats it (as a view) once for each sample of its input: class tokens, learned queries.
    """

    shape: Sizes
    per_sample: bool = False

    def forward(self, tape: Tape, *inputs: Tensor) -> Tensor:
        """Give the tensor."""
        weight = tape.weight("weight", self.shape)
        if not self.per_sample:
            return weight
        if not inputs or not inputs[0].shape:
            raise LayerError("Parameter: per_sample needs an input that has a batch", argument="per_sample")
        return expand(tape, weight, (inputs[0].shape[0], *self.shape))
