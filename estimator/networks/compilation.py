"""What a compiler does to a lowered network: chains of element-wise kernels become one, across layers too."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from estimator.layers.fusion import fused_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.layers.tape import Tensor
    from estimator.networks.graph import Node
    from estimator.workload.workload import LayerWork


class _LoweredCall(Protocol):
    @property
    def node(self) -> Node: ...

    @property
    def arguments(self) -> tuple[Tensor, ...]: ...

    @property
    def outputs(self) -> tuple[Tensor, ...]: ...


def compiled(layers: Sequence[LayerWork], calls: Sequence[_LoweredCall]) -> tuple[LayerWork, ...]:
    """Return the layers with a compiler's kernels; a merged one stays with its first layer."""
    lists = fused_layers([layer.kernels for layer in layers], _follows(calls))
    return tuple(
        layer if call.node.times > 1 else replace(layer, kernels=kernels)
        for layer, call, kernels in zip(layers, calls, lists, strict=True)
    )


def _follows(calls: Sequence[_LoweredCall]) -> list[bool]:
    """Tell of each call whether it takes what the one before gives, and nothing else takes that.

    A layer that runs several times in a row keeps to itself.
    """
    takers = Counter(storage for call in calls for storage in {tensor.storage for tensor in call.arguments})
    follows = []
    before: _LoweredCall | None = None
    for call in calls:
        given = {tensor.storage for tensor in before.outputs} if before else set()
        taken = given & {tensor.storage for tensor in call.arguments}
        alone = call.node.times == 1 and (before is None or before.node.times == 1)
        follows.append(bool(taken) and alone and all(takers[storage] == 1 for storage in taken))
        before = call
    return follows
