"""What a device that shares a model waits for: sums within layers, hand-overs, the pipeline, gradients."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from estimator.errors import InputError
from estimator.predict.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    data_parallel_s,
    devices_per_node,
    exchange_s,
    ring_s,
)

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import Interconnect, System
    from estimator.precision import PrecisionPolicy
    from estimator.predict.layout import Parallelism
    from estimator.predict.replica import Replica


def joins_s(
    replica: Replica, passes: int, system: System, parallel: Parallelism, policy: PrecisionPolicy
) -> float:
    """Seconds a step spends on sums within blocks and on hand-overs between stages; nothing hides them."""
    stream = replica.stream
    if stream is None:
        return 0.0
    size = stream.elements * policy.activations.itemsize / parallel.context
    joins = passes * stream.joins / parallel.pipeline
    seconds = 0.0
    if parallel.tensor > 1:
        link = _link(system, parallel.tensor)
        # as often in backward as in forward, once more under recomputation
        rounds = 3.0 if replica.recomputes else 2.0
        seconds += rounds * joins * ring_s(ALL_REDUCE, size, parallel.tensor, link)
    if parallel.context > 1:
        link = _link(system, parallel.tensor * parallel.context)
        gathers = 1.5 * joins  # keys and values, a half of the norms, thrice
        seconds += gathers * ring_s(ALL_GATHER, 2 * size * parallel.context, parallel.context, link)
    if parallel.pipeline > 1:
        link = _link(system, system.count)
        one = link.alpha_s + size / link.bus_bytes_per_s
        seconds += 2.0 * passes * parallel.virtual * one
    if parallel.experts > 1:
        one = _dispatch_s(replica, system, parallel, policy)
        seconds += 4.0 * passes / parallel.pipeline * one  # there and back again, in forward and in backward
    return seconds


def _dispatch_s(replica: Replica, system: System, parallel: Parallelism, policy: PrecisionPolicy) -> float:
    """Seconds in which the tokens of a micro-batch reach the experts of all layers.

    Each token is sent to another node once at most, and handed on there (hierarchical dispatch: DeepEP, Zhao
    et al. 2025); within a node each of its experts on another device costs a copy.
    """
    share = parallel.context * parallel.tensor
    sent = replica.sent_elements / share * policy.activations.itemsize
    per_node = min(devices_per_node(system), parallel.experts)
    nodes = parallel.experts // per_node
    inside = _link(system, per_node)
    seconds = replica.expert_layers * inside.alpha_s
    seconds += sent * (per_node - 1) / per_node / inside.rate(per_node)
    if nodes > 1:
        outside = _link(system, parallel.experts)
        choices = max(1.0, replica.experts_a_token)
        copies = (nodes - 1) * (1.0 - (1.0 - 1.0 / nodes) ** choices)
        rate = outside.bus_bytes_per_s / devices_per_node(system)
        seconds += replica.expert_layers * outside.alpha_s + sent / choices * copies / rate
    return seconds


def _link(system: System, devices: int) -> Interconnect:
    """Return the link that so many neighbouring devices are joined by."""
    link = system.within if devices <= devices_per_node(system) else system.between
    if link is None:
        raise InputError(f"nothing says what joins {devices} devices", hint="name a link")
    return link


def bubble_s(parallel: Parallelism, passes: int, head_s: float, busy_s: float) -> float:
    """Seconds a device waits for the pipeline to fill, to drain, and for the stage with the logits.

    ``busy_s`` of all passes, the update apart; ``head_s`` of the logits, on their stage.
    """
    if parallel.pipeline <= 1:
        return 0.0
    uneven_s = head_s * (1.0 - 1.0 / parallel.pipeline)
    stage_s = (busy_s + uneven_s) / passes
    return uneven_s + (parallel.pipeline - 1) / parallel.virtual * stage_s


def gradients_s(
    replica: Replica,
    passes: int,
    system: System,
    parallel: Parallelism,
    *,
    policy: PrecisionPolicy,
    calibration: Calibration,
    busy_s: float,
) -> float:
    """Seconds of exchanging gradients (and sharded weights) that the passes do not hide."""
    if parallel.data <= 1:
        return 0.0
    per_node = devices_per_node(system)
    inside = max(1, min(parallel.data, per_node // min(per_node, parallel.tensor * parallel.context)))
    ranks = replace(system, count=parallel.data, nodes=ceil(parallel.data / inside))
    if system.between is not None:  # the devices of a host that belong to other groups exchange theirs, too
        ranks = replace(ranks, between=system.between.faster(inside / per_node))
    if parallel.data % ranks.nodes:
        ranks = replace(ranks, nodes=parallel.data)
    half = policy.product.itemsize if policy.autocast else policy.weights.itemsize
    own = replica.expert_parameters * (1.0 - 1.0 / parallel.experts)  # a device does not hold these
    weights = max(0.0, replica.parameters - own) / parallel.pipeline / parallel.tensor * half
    gradients = max(0.0, replica.gradients - own) / parallel.pipeline / parallel.tensor * half
    if parallel.sharding == "fsdp":
        total = passes * (
            2.0 * exchange_s(ALL_GATHER, weights, ranks) + exchange_s(REDUCE_SCATTER, gradients, ranks)
        )
        return max(calibration.least_exposed * total, total - calibration.hidden_share * busy_s)
    kinds = (ALL_REDUCE,) if parallel.sharding == "none" else (REDUCE_SCATTER, ALL_GATHER)
    total = sum(exchange_s(kind, gradients, ranks) for kind in kinds)
    _, seen = data_parallel_s(
        busy_s, total, parallel.data, exposure=calibration.exposure, straggler=calibration.straggler
    )
    return seen
