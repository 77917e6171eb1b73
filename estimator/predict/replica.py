"""One replica of a model as arrays: what is needed of it to spread it over devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.predict.sharding import Stream, expert_products
from estimator.predict.table import PHASES, build_table
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.predict.table import KernelTable
    from estimator.workload.workload import Workload

_PASSES = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD, Phase.RECOMPUTE)
_GATHERED = "gather.gather_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The kernels of one micro-batch and of one update, undivided.

    ``gradients`` counts the elements of all gradients (``parameters`` counts all weights); ``layers`` the
    layers of which those from ``head`` on (None: no such) follow the last block.
    """

    table: KernelTable
    stream: Stream | None
    parameters: int
    gradients: float
    layers: int
    head: int | None

    @classmethod
    def of(cls, workload: Workload, weight_bytes: int, table: KernelTable | None = None) -> Replica:
        """Return the replica of a workload, whose ``repeats`` do not count; weights have so many bytes.

        ``table``: the workload's kernels, where they are known already.
        """
        norms = [index for index, layer in enumerate(workload.layers) if "Norm" in layer.kind]
        return cls(
            table=build_table(replace(workload, repeats=1)) if table is None else table,
            stream=Stream.of(workload),
            parameters=workload.parameters,
            gradients=sum(each.bytes for each in workload.collectives) / weight_bytes,
            layers=len(workload.layers),
            head=norms[-1] + 1 if norms else None,
        )

    def between(self, other: Replica, share: float) -> Replica:
        """Return the replica ``share`` of the way to the same one at another batch."""
        stream = self.stream
        if stream is not None and other.stream is not None:
            more = other.stream.elements - stream.elements
            stream = replace(stream, elements=stream.elements + share * more)
        return replace(
            self,
            table=self.table.between(other.table, share),
            stream=stream,
            gradients=self.gradients + share * (other.gradients - self.gradients),
        )

    @property
    def recomputes(self) -> bool:
        """Whether the backward pass computes activations again."""
        again = self.table.phase == PHASES.index(Phase.RECOMPUTE)
        return bool((self.table.runs[again] > 0).any())

    @property
    def expert_parameters(self) -> float:
        """Weights of experts, which a mixture's devices can share out."""
        table = self.table
        forward = expert_products(table) & (table.phase == PHASES.index(Phase.FORWARD))
        return float((table.runs * table.batch * table.n * table.k)[forward].sum())

    @property
    def expert_layers(self) -> float:
        """Layers that are mixtures of experts."""
        return float(self.table.runs[self._gathers].sum())

    @property
    def sent_elements(self) -> float:
        """Elements of tokens that go to experts in a forward pass, each as often as it has experts."""
        return float((self.table.runs * self.table.elements)[self._gathers].sum())

    @property
    def experts_a_token(self) -> float:
        """Experts that each token goes to; 0 without a mixture."""
        if self.stream is None or not self.expert_layers:
            return 0.0
        return self.sent_elements / self.expert_layers / self.stream.elements

    @property
    def _gathers(self) -> NDArray[np.bool_]:
        kinds = np.array([category.kind == _GATHERED for category in self.table.categories], dtype=bool)
        forward = self.table.phase == PHASES.index(Phase.FORWARD)
        gathers: NDArray[np.bool_] = kinds[self.table.category] & forward
        return gathers

    def head_s(self, table: KernelTable, per_kernel: NDArray[np.float64]) -> float:
        """Return the seconds of what follows the last block in all passes of a table."""
        by_layer = table.by_layer(per_kernel, self.layers, _PASSES)[:-1]
        return float(by_layer[self.head :].sum()) if self.head is not None else 0.0


def repeated(table: KernelTable, passes: int) -> KernelTable:
    """Return a table whose kernels run so often before one update."""
    if passes == 1:
        return table
    often = np.where(table.phase == PHASES.index(Phase.OPTIMIZER), 1.0, float(passes))
    return replace(table, runs=table.runs * often, calls=table.calls * often[table.kernel])
