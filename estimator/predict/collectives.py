"""The time devices take to exchange gradients, weights and activations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.hardware.system import Interconnect, System

ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER = "all_reduce", "reduce_scatter", "all_gather"
_BACKWARD_SHARE = 2 / 3  # of a step: the only part that an exchange of gradients can overlap
_TRIPS = {ALL_REDUCE: 2.0, REDUCE_SCATTER: 1.0, ALL_GATHER: 1.0}


def ring_s(kind: str, size_bytes: float, devices: int, link: Interconnect, *, buckets: int = 1) -> float:
    """Return the seconds ``devices`` on one link take to combine ``size_bytes``, sent in ``buckets``.

    A ring: ``alpha + trips (n - 1) / n x S / B``; on many devices the latency of a tree, which grows with
    the logarithm, is shorter, and the shorter of the two is taken, as NCCL does.
    """
    if devices <= 1 or size_bytes <= 0:
        return 0.0
    trips = _TRIPS.get(kind)
    if trips is None:
        raise InputError(f"unknown collective {kind!r}", hint=f"known: {', '.join(_TRIPS)}")
    ring = link.alpha_s + link.alpha_per_device_s * devices
    tree = link.alpha_s + link.alpha_per_device_s * 2 * math.log2(devices)
    return buckets * min(ring, tree) + trips * (devices - 1) / devices * size_bytes / link.rate(devices)


def exchange_s(kind: str, size_bytes: float, system: System, *, buckets: int = 1) -> float:
    """Return the seconds all devices of a system take for one collective.

    Over several nodes it runs in three parts: combine within each node, exchange between nodes (each
    device its share, all shares of a node at once over the node's links), spread within each node.
    """
    per_node = devices_per_node(system)
    if system.count <= 1:
        return 0.0
    if system.nodes <= 1:
        return ring_s(kind, size_bytes, system.count, _within(system), buckets=buckets)
    between = _between(system)
    outside = ring_s(kind, size_bytes, system.nodes, between, buckets=buckets)
    if per_node == 1:
        return outside
    inside = ring_s(kind, size_bytes, per_node, _within(system), buckets=buckets)
    return inside + outside


def devices_per_node(system: System) -> int:
    """Return how many devices each node holds; they must be equal in number."""
    if system.nodes < 1 or system.count < 1 or system.count % system.nodes:
        raise InputError(
            f"{system.count} devices cannot be spread over {system.nodes} nodes evenly",
            hint="give a number of devices that is a multiple of the nodes",
        )
    return system.count // system.nodes


def _within(system: System) -> Interconnect:
    if system.within is None:
        raise InputError(
            f"nothing says what joins the {devices_per_node(system)} devices of a node", hint="name a link"
        )
    return system.within


def _between(system: System) -> Interconnect:
    if system.between is None:
        raise InputError(f"nothing says what joins the {system.nodes} nodes", hint="name a link")
    return system.between


def data_parallel_s(
    step_s: float, communication_s: float, devices: int, *, exposure: float, straggler: float
) -> tuple[float, float]:
    """Return the device's part and the exposed communication of a data-parallel step, in seconds.

    ``T1 (1 + straggler log2 n) + exposure x C``: replicas wait for the slowest, and a constant share of
    the exchange stays visible (a better fit of public scaling tables than hiding all that backward can).
    What takes longer than the backward pass cannot hide behind it, so at least ``C - 2/3 T1`` is seen.
    """
    waiting = step_s * straggler * math.log2(devices) if devices > 1 else 0.0
    seen = np.maximum(exposure * communication_s, communication_s - _BACKWARD_SHARE * step_s)
    return step_s, waiting + (seen if seen.ndim else float(seen))
