"""Tells which sizes of a trace are the batch: two traces with different batches, compared call by call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.torch_trace import Trace


@dataclass(frozen=True, slots=True)
class PerSample:
    """A number that is ``count`` times the batch."""

    count: int


@dataclass(slots=True)
class Scaled:
    """A trace with a batch of ``batch``, and by value the multiple of the batch in each dimension (0: none)."""

    trace: Trace
    batch: int
    factors: list[tuple[int, ...]] = field(default_factory=list)


def scaled(first: Trace, second: Trace, batches: tuple[int, int]) -> Scaled:
    """Return ``first`` with its batch-dependent sizes marked.

    Raises InputError when the two traces differ in more than sizes proportional to the batch.
    """
    if [c.function for c in first.calls] != [c.function for c in second.calls]:
        raise InputError("the module does other things when the batch changes", hint="convert it by hand")
    found = Scaled(first, batches[0])
    for one, two in zip(first.values, second.values, strict=True):
        if len(one.shape) != len(two.shape):
            raise InputError(f"a tensor's rank depends on the batch: {one.shape} and {two.shape}")
        found.factors.append(
            tuple(_factor(a, b, batches) for a, b in zip(one.shape, two.shape, strict=True))
        )
    for call, other in zip(first.calls, second.calls, strict=True):
        call.args = _merge(call.args, other.args, batches)
        call.kwargs = _merge(call.kwargs, other.kwargs, batches)
    return found


def _factor(one: int, two: int, batches: tuple[int, int]) -> int:
    """Return the multiple of the batch that a size is, 0 where it does not depend on it."""
    if one == two:
        return 0
    if one * batches[1] == two * batches[0] and one % batches[0] == 0:
        return one // batches[0]
    raise InputError(f"a size is not proportional to the batch: {one} and {two}")


def _merge(one: Any, two: Any, batches: tuple[int, int]) -> Any:  # noqa: ANN401 - arguments of any call
    """Return ``one`` with whole numbers that scale with the batch as PerSample."""
    if isinstance(one, bool) or type(one) is not type(two):
        return one
    if isinstance(one, int):
        factor = _factor(one, two, batches)
        return PerSample(factor) if factor else one
    if isinstance(one, tuple):
        if len(one) != len(two):
            return one
        return tuple(_merge(a, b, batches) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict):
        return {key: _merge(value, two.get(key), batches) for key, value in one.items()}
    return one
