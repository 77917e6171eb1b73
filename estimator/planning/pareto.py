"""The Pareto front: options that no other beats in both time and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def front(times: Sequence[float], costs: Sequence[float | None]) -> list[bool]:
    """Tell which points no other point is at least as fast and cheaper than, or faster and as cheap.

    Points without a cost are on no front; of equal points the first is.
    """
    known = [
        (time, cost, i) for i, (time, cost) in enumerate(zip(times, costs, strict=True)) if cost is not None
    ]
    on = [False] * len(times)
    cheapest = float("inf")
    for _, cost, index in sorted(known):
        if cost < cheapest:
            on[index] = True
            cheapest = cost
    return on
