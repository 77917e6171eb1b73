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
    """A trace with a batch, and by value the multiple of the batch in each dimension (0: none)."""

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
        found.factors.append(tuple(_factor(a, b, batches) for a, b in zip(one.shape, two.shape, strict=True)))
    for call, other in zip(first.calls, second.calls, strict=True):
        call.args = _merge(call.args, other.args, batches)
        call.kwargs = _merge(call.kwargs, other.kwargs, batches)
    return found


def scaled_like(trace: Trace, other: Scaled) -> Scaled:
    """Return a trace of the same module at another image size, its batch dimensions as in ``other``.

    A size that is the batch times something keeps that; raises InputError where the calls differ.
    """
    if [c.function for c in trace.calls] != [c.function for c in other.trace.calls]:
        raise InputError("the module does other things when the image size changes")
    found = Scaled(trace, other.batch)
    for value, like, factors in zip(trace.values, other.trace.values, other.factors, strict=True):
        if len(value.shape) != len(like.shape) or any(
            f and size % other.batch for size, f in zip(value.shape, factors, strict=True)
        ):
            raise InputError("a tensor's rank changes with the image size")
        found.factors.append(
            tuple(size // other.batch if f else 0 for size, f in zip(value.shape, factors, strict=True))
        )
    for call, like_call in zip(trace.calls, other.trace.calls, strict=True):
        call.args = _like(call.args, like_call.args, other.batch)
        call.kwargs = _like(call.kwargs, like_call.kwargs, other.batch)
    return found


def _like(one: Any, other: Any, batch: int) -> Any:  # noqa: ANN401 - arguments of any call
    if isinstance(other, PerSample) and isinstance(one, int):
        return PerSample(one // batch)
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(_like(a, b, batch) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _like(value, other.get(key), batch) for key, value in one.items()}
    return one


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
