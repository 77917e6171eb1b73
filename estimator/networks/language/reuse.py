"""Using layers again: copies of nodes that share the weights of the first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.networks.graph import Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.errors import Location
    from estimator.networks.graph import Node
    from estimator.networks.language.scope import Flow, Target


def copies(
    target: Target, nodes: Sequence[Node], before: int, *, inputs: Flow, path: str, at: Location
) -> tuple[list[Node], Flow]:
    """Return the nodes of ``target`` again, fed by ``inputs``, and what flows out of them.

    ``before`` is how many network inputs references count before the first node.
    """
    shift = len(nodes) - target.first
    inner = range(before + target.first, before + target.last)
    entry = dict(zip(target.entry, inputs, strict=True))

    def moved(reference: Reference) -> Reference:
        if reference.node in inner:
            return Reference(reference.node + shift, reference.output)
        return entry.get(reference, reference)

    made = [
        replace(
            node,
            path=path + node.path.removeprefix(target.path),
            inputs=tuple(moved(reference) for reference in node.inputs),
            shares=target.first + index if node.shares is None else node.shares,
            at=at,
        )
        for index, node in enumerate(nodes[target.first : target.last])
    ]
    return made, tuple(moved(reference) for reference in target.outputs)
