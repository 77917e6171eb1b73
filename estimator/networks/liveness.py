"""What else lives while a backward pass runs: the gradients of values, from their last use to their maker."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.layers.tape import Record
    from estimator.networks.calls import Call

_PAIR = 2


def gradients_in_flight(calls: Sequence[Call]) -> list[int]:
    """Return, for each call, the bytes of activation gradients alive while its backward runs.

    The gradient of a value is there from the backward of its last user to that of its maker. Layers whose
    backward launches nothing hand the same memory on: a sum's gradient is that of each of its terms. Inside
    a call of several kernels two gradients live at once, what one of them reads and what it writes.
    """
    groups = _Groups()
    # Blocks that are alike share their records: each is looked through once.
    flows = {id(call.record): call for call in calls}
    flow_of = {record: _Flow.of(call) for record, call in flows.items()}
    spans: dict[int, list[int]] = {}  # storage of a value: its maker, its last user, its bytes
    exceeding: list[tuple[int, _Flow, list[int]]] = []
    for index, call in enumerate(calls):
        flow = flow_of[id(call.record)]
        values = call.arguments + call.outputs
        storages = [values[position].storage for position in flow.positions]
        for storage, size in zip(storages, flow.sizes, strict=True):
            span = spans.get(storage)
            if span is None:
                spans[storage] = [index, index, size]
            else:
                span[1] = index
                span[2] = max(span[2], size)
        if flow.written is None:
            for storage in storages[1:]:
                groups.join(storages[0], storage)
        if flow.exceeds:
            exceeding.append((index, flow, storages))
    group_of = {storage: groups.of(storage) for storage in spans}
    alive = _alive(spans, group_of, len(calls))
    for index, flow, storages in exceeding:
        alive[index] += flow.more_than(storages, group_of)
    return alive


@dataclass(frozen=True, slots=True)
class _Flow:
    """Where gradients flow in a call: which of its arguments and outputs have one, and their bytes.

    ``written`` are the bytes of the two largest gradients that a backward writes in turn; None if none.
    ``exceeds``: whether they are more than the largest gradient that it takes or gives.
    """

    positions: tuple[int, ...]
    sizes: tuple[int, ...]
    written: int | None
    exceeds: bool

    @classmethod
    def of(cls, call: Call) -> _Flow:
        """Read one call; all that share its record are alike."""
        largest: dict[int, int] = {}
        for position, tensor in enumerate(call.arguments):
            if tensor.requires_grad:
                largest[position] = tensor.bytes
        for position, tensor in enumerate(call.record.outputs, start=len(call.arguments)):
            if tensor.requires_grad:
                # A view has the memory of the argument it looks at.
                place = position if tensor.storage >= 0 else -1 - tensor.storage
                largest[place] = max(largest.get(place, 0), tensor.bytes)
        sizes = tuple(largest.values())
        written = _written(call.record)
        exceeds = written is not None and written > max(sizes, default=0)
        return cls(tuple(largest), sizes, written, exceeds)

    def more_than(self, storages: Sequence[int], group_of: Mapping[int, int]) -> int:
        """Return by how many bytes the gradients written inside exceed those that a call takes and gives."""
        own: dict[int, int] = {}
        for storage, size in zip(storages, self.sizes, strict=True):
            group = group_of[storage]
            own[group] = max(own.get(group, 0), size)
        return max(0, (self.written or 0) - sum(own.values()))


class _Groups:
    """Storages whose gradients share memory."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def of(self, storage: int) -> int:
        """Return the one that stands for the group."""
        if storage not in self._above:
            return storage
        top = storage
        while (above := self._above.get(top, top)) != top:
            top = above
        while (above := self._above.get(storage, storage)) != top:
            self._above[storage], storage = top, above
        return top

    def join(self, first: int, second: int) -> None:
        """Make one group of two."""
        self._above[self.of(second)] = self.of(first)


def _alive(spans: dict[int, list[int]], group_of: dict[int, int], count: int) -> list[int]:
    """Return the bytes alive at each call; of a group that shares memory the largest member counts."""
    shared: dict[int, list[list[int]]] = defaultdict(list)
    for storage, span in spans.items():
        shared[group_of[storage]].append(span)
    changes = [0] * (count + 1)
    for members in shared.values():
        if len(members) == 1:
            ((made, used, size),) = members
            changes[made] += size
            changes[used + 1] -= size
            continue
        _add_largest(members, changes)
    total = 0
    return [total := total + change for change in changes[:count]]


def _add_largest(members: list[list[int]], changes: list[int]) -> None:
    """Add to ``changes`` how the largest of the spans that hold a call changes from call to call."""
    begins = sorted(members)
    edges = sorted({made for made, _, _ in members} | {used + 1 for _, used, _ in members})
    alive: list[tuple[int, int]] = []  # a heap: the size negated, the first call after the span
    before = taken = 0
    for index in edges:
        while taken < len(begins) and begins[taken][0] == index:
            _, used, size = begins[taken]
            heappush(alive, (-size, used + 1))
            taken += 1
        while alive and alive[0][1] <= index:
            heappop(alive)
        largest = -alive[0][0] if alive else 0
        changes[index] += largest - before
        before = largest


def _written(record: Record) -> int | None:
    written = [
        kernel.bytes_written if kernel.launches <= _PAIR else _PAIR * kernel.bytes_written // kernel.launches
        for kernel in record.kernels
        if kernel.phase is Phase.DGRAD
    ]
    return sum(sorted(written)[-_PAIR:]) if written else None
