"""The use cases of ``estimator networks``: list the zoo, check a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.network_counts import digests, recorded_counts
from estimator.catalog.networks import load_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.results.networks import NetworkCheckResult, NetworkListResult, NetworkRow

if TYPE_CHECKING:
    from estimator.networks.graph import Network
    from estimator.workload.workload import Workload

_ONE_SAMPLE = Training(batch=1, training=False)


def list_networks(family: str | None = None) -> NetworkListResult:
    """Return the zoo, counted: alphabetical, of one family where one is named.

    What has not changed since it was counted (``make counts``) is not counted again.
    """
    recorded = recorded_counts()
    rows = []
    for name, digest in sorted(digests().items()):
        known = dict(recorded.get(name, {}))
        row = NetworkRow(**known) if known.pop("digest", None) == digest else count_network(name)
        if family in (None, row.family):
            rows.append(row)
    return NetworkListResult(networks=tuple(rows))


def count_network(name: str) -> NetworkRow:
    """Return what one sample of a network of the zoo costs."""
    network = load_network(name)
    return _row(network, lower(network, _ONE_SAMPLE))


def check_network(network: Network) -> NetworkCheckResult:
    """Return what a network holds; raises InputError with all that is wrong with it."""
    trained = lower(network, Training(batch=2))
    return NetworkCheckResult(
        network=_row(network, lower(network, _ONE_SAMPLE)),
        layers=len(trained.layers),
        custom_layers=trained.custom_layers,
    )


def _row(network: Network, workload: Workload) -> NetworkRow:
    """Return a network's counts; parameters are all it has, auxiliary heads included."""
    has_heads = any(
        node.training_only and not node.layer.type_name.endswith("Loss") for node in network.nodes
    )
    trained = lower(network, Training(batch=1)) if has_heads else workload
    return NetworkRow(
        name=network.name,
        family=network.family,
        parameters=trained.parameters,
        forward_flops=workload.forward_flops,
        input=", ".join(f"{i.name} {list(i.shape)} {i.dtype}" for i in network.inputs),
        source=network.source,
    )
