"""What a compiler does to a lowered network: chains of element-wise kernels become one, across layers too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from estimator.layers.fusion import fused_layers
from estimator.workload.kernel import IN_PLACE, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.networks.calls import Call
    from estimator.workload.workload import LayerWork

    _Value = tuple[int, int]  # a storage, and how often it has been written over


def compiled(layers: Sequence[LayerWork], calls: Sequence[Call]) -> tuple[LayerWork, ...]:
    """Return the layers with a compiler's kernels; a merged one stays with its first layer."""
    lists = fused_layers([layer.kernels for layer in layers], _follows(layers, calls))
    return tuple(
        layer if call.node.times > 1 else layer._replace(kernels=kernels)
        for layer, call, kernels in zip(layers, calls, lists, strict=True)
    )


def _follows(layers: Sequence[LayerWork], calls: Sequence[Call]) -> list[bool]:
    """Tell of each call whether it takes what the one before gives, and nothing else takes that.

    A layer that runs several times in a row keeps to itself.
    """
    values = _values(layers, calls)
    takers = Counter(value for taken, _ in values for value in taken)
    follows = []
    before: Call | None = None
    given: set[_Value] = set()
    for call, (taken, gives) in zip(calls, values, strict=True):
        passed = given & taken
        alone = call.node.times == 1 and (before is None or before.node.times == 1)
        follows.append(bool(passed) and alone and all(takers[value] == 1 for value in passed))
        before, given = call, gives
    return follows


def _values(layers: Sequence[LayerWork], calls: Sequence[Call]) -> list[tuple[set[_Value], set[_Value]]]:
    """Return what each call takes and gives: memory, and how often it has been written over by then."""
    written: Counter[int] = Counter()
    values = []
    for layer, call in zip(layers, calls, strict=True):
        storages = {tensor.storage for tensor in call.arguments}
        taken = {(storage, written[storage]) for storage in storages}
        outputs = {tensor.storage for tensor in call.outputs}
        if any(k.phase is Phase.FORWARD and k.name.endswith(IN_PLACE) for k in layer.kernels):
            written.update(storages & outputs)
        values.append((taken, {(storage, written[storage]) for storage in outputs}))
    return values
