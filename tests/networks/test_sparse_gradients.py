"""Tables with sparse gradients: a step updates and exchanges the rows it looked up, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Training
from estimator.workload.kernel import Op

if TYPE_CHECKING:
    from estimator.workload.workload import Workload

ROWS, WIDTH, LOOKED_UP = 10_000, 16, 5
TEXT = """
inputs: {{indices: {{shape: [5], dtype: int64}}}}
layers:
  - {{type: {kind}, num_embeddings: 10000, embedding_dim: 16, sparse: {sparse}, name: table}}
"""
AGAIN = "  - {reuse: table, from: indices}\n"


def work(kind: str, sparse: str, *, batch: int = 8, more: str = "") -> Workload:
    text = TEXT.format(kind=kind, sparse=sparse) + more
    training = Training(batch=batch, optimizer=OPTIMIZERS.get("adam"))
    return lower(read_network(read_document(text, "net.yaml")), training)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_only_the_rows_looked_up_are_updated_and_exchanged(kind: str) -> None:
    dense, sparse = work(kind, "false"), work(kind, "true")
    assert dense.collectives[0].bytes == 4 * ROWS * WIDTH
    assert sparse.collectives[0].bytes == 4 * 8 * LOOKED_UP * WIDTH
    assert {kernel.elements for kernel in sparse.optimizer} == {8 * LOOKED_UP * WIDTH}
    written = [k.bytes_written for layer in sparse.layers for k in layer.kernels if k.op is Op.SCATTER]
    assert written == [4 * 8 * LOOKED_UP * WIDTH]


def test_the_table_and_its_state_are_held_whole() -> None:
    dense, sparse = work("Embedding", "false").footprint, work("Embedding", "true").footprint
    assert sparse.weights_bytes == dense.weights_bytes == 4 * ROWS * WIDTH
    assert sparse.optimizer_bytes == dense.optimizer_bytes == 8 * ROWS * WIDTH
    assert sparse.gradients_bytes == 4 * 8 * LOOKED_UP * WIDTH


def test_a_table_is_never_updated_more_than_once_over() -> None:
    assert work("Embedding", "true", batch=4096).collectives[0].bytes == 4 * ROWS * WIDTH


def test_look_ups_of_all_users_of_a_table_count() -> None:
    twice = work("Embedding", "true", more=AGAIN)
    assert twice.collectives[0].bytes == 2 * 4 * 8 * LOOKED_UP * WIDTH
    assert twice.parameters == ROWS * WIDTH
