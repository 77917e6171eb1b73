"""Nesting: a list of items with wires becomes residuals, parallel branches and repeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.convert.fold import Item, Use

if TYPE_CHECKING:
    from collections.abc import Callable

_JOINS = frozenset({"Add", "Mul", "Concat"})
SOURCES = frozenset({"Parameter", "Constant"})  # layers that make a value: nothing flows into them
_LONGEST_PERIOD = 24


@dataclass(slots=True, eq=False)
class Joined(Item):
    """Branches on one input and the layer that joins them; an empty branch is the input itself."""

    branches: list[list[Item]] = field(default_factory=list)
    join: Item | None = None


@dataclass(slots=True, eq=False)
class Repeated(Item):
    """Items ``count`` times in a row."""

    count: int = 1
    layers: list[Item] = field(default_factory=list)


class Nester:
    """Nests the items of one list. ``kept`` are results used from elsewhere: they keep their place."""

    def __init__(self, items: list[Item], kept: set[int], single_input: bool) -> None:  # noqa: FBT001
        self.items = items
        self.kept = kept
        self.single_input = single_input

    def run(self) -> list[Item]:
        """Return the nested list."""
        items = self._join(self.items)
        return self._repeat(items)

    def _join(self, items: list[Item]) -> list[Item]:
        """Find branches that start at one value and end in one joining layer."""
        n = 0
        while n < len(items):
            item = items[n]
            found = self._branches(items, n) if item.type in _JOINS and len(item.uses) > 1 else None
            if found is None:
                n += 1
                continue
            start, source, branches = found
            joined = Joined(
                "joined", uses=[source] if source else [], result=item.result, branches=branches, join=item
            )
            items = [*items[:start], joined, *items[n + 1 :]]
            for other in items[start:]:
                _rewire(other, item, joined)
            n = start + 1
        return items

    def _branches(self, items: list[Item], n: int) -> tuple[int, Use | None, list[list[Item]]] | None:
        """Return where the branches of the joining item ``n`` start, their source, and the branches."""
        join = items[n]
        position = {id(item): i for i, item in enumerate(items)}
        if any(u.output or (u.item is not None and id(u.item) not in position) for u in join.uses):
            return None
        ends = [position[id(u.item)] if u.item is not None else -1 for u in join.uses]
        inside = sorted(e for e in ends)
        source_at = None
        if len(set(ends)) != len(ends) or inside[-1] != n - 1:
            return None
        # one of them is the source itself, or the source is what the branch after the first reads
        first_end = inside[0]
        candidates = [first_end]
        if len(inside) > 1 and first_end + 1 < n and items[first_end + 1].uses:
            use = items[first_end + 1].uses[0]
            if not use.output:
                at = position.get(id(use.item)) if use.item is not None else -1
                if at is not None and at < first_end:
                    candidates.append(at)
        for source_at in candidates:
            if source_at == -1 and not self.single_input:
                continue
            branches = self._cut(items, n, source_at, ends)
            if branches is not None:
                source = Use(items[source_at]) if source_at >= 0 else Use(None)
                return source_at + 1, source, branches
        return None

    def _cut(self, items: list[Item], n: int, source_at: int, ends: list[int]) -> list[list[Item]] | None:
        """Return the items between source and join as branches in the order of the join's inputs."""
        join = items[n]
        real = sorted(e for e in ends if e != source_at)
        bounds = []
        begin = source_at + 1
        for end in real:
            if end < begin:
                return None
            bounds.append((begin, end))
            begin = end + 1
        if begin != n:
            return None
        by_end = {}
        for low, high in bounds:
            branch = items[low : high + 1]
            if not self._is_branch(items, branch, items[source_at] if source_at >= 0 else None, join):
                return None
            by_end[high] = branch
        branches = [by_end.get(end, []) for end in ends]
        if join.type == "Concat" and (len(ends) != 2 or not all(branches)):  # noqa: PLR2004 - Residual has two
            return branches if all(branches) else None
        return branches if len(branches) == 2 or all(branches) else None  # noqa: PLR2004

    def _is_branch(  # noqa: PLR0911 - a list of conditions
        self, items: list[Item], branch: list[Item], source: Item | None, join: Item
    ) -> bool:
        """Tell whether a branch reads only the source, and only its end is read, by the join alone."""
        own = {id(item) for item in branch}
        for item in branch:
            if item.result in self.kept and item is not branch[-1]:
                return False
            for use in item.uses:
                if use.item is None and source is not None:
                    return False
                if use.item is not None and use.item is not source and id(use.item) not in own:
                    return False
        if branch[-1].result in self.kept:
            return False
        first = branch[0]
        if first.uses and not (
            len(first.uses) == 1 and first.uses[0].item is source and not first.uses[0].output
        ):
            return False
        if not first.uses or first.type in SOURCES:
            return False
        return all(
            id(use.item) not in own
            for other in items
            if id(other) not in own and other is not join
            for use in other.uses
        )

    def _repeat(self, items: list[Item]) -> list[Item]:
        """Find runs of equal items in a row."""
        keys = [
            signature(item, items, n, self.kept, flows_in=self.single_input) for n, item in enumerate(items)
        ]
        made: list[Item] = []
        n = 0
        while n < len(items):
            period, count = self._run(items, keys, n)
            if count < 2:  # noqa: PLR2004 - once is no repeat
                made.append(items[n])
                n += 1
                continue
            body = items[n : n + period]
            end = items[n + period * count - 1]
            repeated = Repeated("repeat", uses=body[0].uses, result=end.result, count=count, layers=body)
            made.append(repeated)
            for other in items[n + period * count :]:
                _rewire(other, end, repeated)
            n += period * count
        return made

    def _run(self, items: list[Item], keys: list[Any], n: int) -> tuple[int, int]:
        """Return the period and count of the best run that starts at ``n``."""
        best = (1, 1)
        for period in range(1, min(_LONGEST_PERIOD, (len(items) - n) // 2) + 1):
            count = 1
            chunk = keys[n : n + period]
            if not self._links(items, n, period):
                continue
            while keys[n + count * period : n + (count + 1) * period] == chunk:
                count += 1
            count = self._unused_inside(items, n, period, count)
            if count > 1 and (count - 1) * period > (best[1] - 1) * best[0]:
                best = (period, count)
        return best

    @staticmethod
    def _links(items: list[Item], n: int, period: int) -> bool:
        """Tell whether a chunk reads only itself, and its first item only what is just before."""
        chunk = items[n : n + period]
        own = {id(item) for item in chunk}
        before = items[n - 1] if n else None
        for i, item in enumerate(chunk):
            for use in item.uses:
                if use.item is not None and id(use.item) in own:
                    continue
                if i or use.item is not before or use.output:
                    return False
        return bool(chunk[0].uses)

    @staticmethod
    def _unused_inside(items: list[Item], n: int, period: int, count: int) -> int:
        """Return how many repetitions are read by nothing but the next one."""
        while count > 1:
            run = items[n : n + period * count]
            own = {id(item) for item in run[:-1]}
            rest = items[n + period * count :]
            if any(use.item is not None and id(use.item) in own for item in rest for use in item.uses):
                count -= 1
                continue
            break
        return count


def _rewire(item: Item, old: Item, new: Item) -> None:
    """Let an item, and all inside it, read ``new`` instead of ``old``."""
    item.uses = [Use(new, u.output) if u.item is old else u for u in item.uses]
    for inner in _inside(item):
        _rewire(inner, old, new)


def _inside(item: Item) -> list[Item]:
    if isinstance(item, Joined):
        return [i for branch in item.branches for i in branch] + ([item.join] if item.join else [])
    return item.layers if isinstance(item, Repeated) else []


def signature(item: Item, items: list[Item], n: int, kept: set[int], *, flows_in: bool = False) -> Any:  # noqa: ANN401 - a nested tuple
    """Return what makes two items equal: type, arguments, and inputs relative to their place.

    ``flows_in`` says that the list's only input is what stands before its first item.
    """
    if item.entry is not None and (item.entry.reuse is not None or item.entry.tie is not None):
        return ("unique", id(item))
    if item.result in kept and n + 1 < len(items):
        return ("unique", id(item))
    position = {id(other): i for i, other in enumerate(items)}

    def place(use: Use) -> Any:  # noqa: ANN401 - a number or an identity
        if use.item is None:
            return (-1, 0) if flows_in and not n and not use.output else ("in", use.output)
        at = position.get(id(use.item))
        return (at - n if at is not None else ("outer", id(use.item)), use.output)

    flags = (item.entry.trainable, item.entry.training_only) if item.entry else None
    own: Any = ()
    if isinstance(item, Joined):
        own = (
            tuple(
                tuple(_inner(inner, branch, item.uses, kept) for inner in branch) for branch in item.branches
            ),
            item.join.type if item.join else "",
            repr(item.join.args) if item.join else "",
        )
    elif isinstance(item, Repeated):
        own = (item.count, tuple(_inner(inner, item.layers, item.uses, kept) for inner in item.layers))
    return (item.type, repr(sorted(item.args.items())), tuple(place(u) for u in item.uses), flags, own)


def _inner(item: Item, branch: list[Item], source: list[Use], kept: set[int]) -> Any:  # noqa: ANN401
    """Return the signature of an item inside a container, whose source has no place."""
    inside = Item(item.type)
    del inside
    n = next(i for i, other in enumerate(branch) if other is item)
    known: Callable[[Use], bool] = lambda use: any(  # noqa: E731 - one line
        use.item is s.item and use.output == s.output for s in source
    )
    key = signature(item, branch, n, kept)
    if not isinstance(key, tuple) or key[0] == "unique":
        return key
    places = tuple("source" if known(use) else place for use, place in zip(item.uses, key[2], strict=True))
    return (key[0], key[1], places, *key[3:])
