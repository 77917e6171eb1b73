"""What a compiler does to a lowered network: chains of element-wise kernels become one, across layers too."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from estimator.layers.fusion import fused_layers
from estimator.workload.kernel import IN_PLACE, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.networks.calls import Call
    from estimator.workload.workload import LayerWork

    _Value = tuple[int, int]  # a storage, and how often it has been written over
    _Use = tuple[set[_Value], set[_Value]]  # what a call takes, and what it gives
    _Takers = Mapping[_Value, Sequence[int]]  # the calls that take a value


def compiled(layers: Sequence[LayerWork], calls: Sequence[Call]) -> tuple[LayerWork, ...]:
    """Return the layers with a compiler's kernels; a merged one stays with its first layer."""
    values = _values(layers, calls)
    takers: dict[_Value, list[int]] = defaultdict(list)
    for index, (taken, _) in enumerate(values):
        for value in taken:
            takers[value].append(index)
    layers = _inlined(layers, calls, values, takers)
    lists = fused_layers([layer.kernels for layer in layers], _follows(calls, values, takers))
    return tuple(
        layer if call.node.times > 1 else layer._replace(kernels=kernels)
        for layer, call, kernels in zip(layers, calls, lists, strict=True)
    )


def _inlined(
    layers: Sequence[LayerWork], calls: Sequence[Call], values: Sequence[_Use], takers: _Takers
) -> list[LayerWork]:
    """Move the forward of element-wise layers to the one element-wise layer that takes what they give.

    Code of the kind is written where it is used (TorchInductor: only what several kernels read, or what a
    product reads, is realized).
    """
    result = list(layers)
    for index, (taken, given) in enumerate(values):
        users = {user for value in given for user in takers.get(value, ())}
        if taken & given or len(users) != 1 or calls[index].node.times > 1:
            continue
        (user,) = users
        if user > index + 1 and calls[user].node.times == 1 and _joins(result[index], result[user]):
            own = result[index].kernels
            moved = tuple(kernel for kernel in own if kernel.phase is Phase.FORWARD)
            left = tuple(kernel for kernel in own if kernel.phase is not Phase.FORWARD)
            result[index] = result[index]._replace(kernels=left)
            result[user] = result[user]._replace(kernels=(*moved, *result[user].kernels))
    return result


def _joins(layer: LayerWork, user: LayerWork) -> bool:
    """Tell whether all forward work of a layer is element by element, and the user's begins with as many."""
    own = [kernel for kernel in layer.kernels if kernel.phase is Phase.FORWARD]
    others = [kernel for kernel in user.kernels if kernel.phase is Phase.FORWARD]
    if not own or not others or others[0].op is not Op.ELEMENTWISE:
        return False
    return all(kernel.op is Op.ELEMENTWISE and kernel.elements == others[0].elements for kernel in own)


def _follows(calls: Sequence[Call], values: Sequence[_Use], takers: _Takers) -> list[bool]:
    """Tell of each call whether it takes what the one before gives, and nothing else takes that.

    A layer that runs several times in a row keeps to itself.
    """
    follows = []
    before: Call | None = None
    given: set[_Value] = set()
    for call, (taken, gives) in zip(calls, values, strict=True):
        passed = given & taken
        alone = call.node.times == 1 and (before is None or before.node.times == 1)
        follows.append(bool(passed) and alone and all(len(takers[value]) == 1 for value in passed))
        before, given = call, gives
    return follows


def _values(layers: Sequence[LayerWork], calls: Sequence[Call]) -> list[_Use]:
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
