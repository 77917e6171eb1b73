"""The use cases of ``estimator networks``: list the zoo, check a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.converted import PACKAGES, SOURCES, converted_index
from estimator.catalog.near_networks import loose, near_network
from estimator.catalog.network_counts import digests, recorded_counts
from estimator.catalog.networks import load_network
from estimator.errors import InputError, suggestion
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.precision import DType
from estimator.results.networks import NetworkCheckResult, NetworkListResult, NetworkRow

if TYPE_CHECKING:
    from estimator.networks.graph import Network
    from estimator.workload.workload import Workload

_ONE_SAMPLE = Training(batch=1, training=False)


def list_networks(family: str | None = None, word: str | None = None) -> NetworkListResult:
    """Return the zoo, counted: alphabetical, of one family where one is named.

    With ``word`` also the converted networks, all whose name or family has it, however it is written; the
    family of a converted one is its package. Raises InputError where there is no such family or network.
    """
    rows = _zoo_rows()
    families = {row.family for row in rows if row.family}
    if family is not None and family not in {*families, *PACKAGES}:
        hint = suggestion(family, [*families, *PACKAGES]) or f"known are {', '.join(sorted(families))}"
        raise InputError(f"no networks of family {family!r}", hint=hint)
    if word is not None or family in PACKAGES:
        rows += _converted_rows()
    wanted = loose(word or "")
    found = tuple(
        row
        for row in rows
        if family in (None, row.family) and (wanted in loose(row.name) or wanted in loose(row.family))
    )
    if word is not None and not found:
        hint = near_network(word, [row.name for row in rows]) or "'estimator networks list' shows the zoo"
        raise InputError(f"no network has {word!r} in its name or family", hint=hint)
    return NetworkListResult(networks=found)


def _zoo_rows() -> list[NetworkRow]:
    """Return the zoo; what has not changed since it was counted (``make counts``) is not counted again."""
    recorded = recorded_counts()
    rows = []
    for name, digest in sorted(digests().items()):
        known = dict(recorded.get(name, {}))
        rows.append(NetworkRow(**known) if known.pop("digest", None) == digest else count_network(name))
    return rows


def _converted_rows() -> list[NetworkRow]:
    """Return the converted networks as they were counted when they were converted."""
    return [
        NetworkRow(
            name=row["name"],
            family=row["name"].partition(":")[0],
            parameters=int(row["parameters"]),
            forward_flops=int(row["forward_flops"]),
            input=f"image [{', '.join(row['image'].split('x'))}] {DType.FP32}",
            source=SOURCES[row["name"].partition(":")[0]],
        )
        for row in sorted(converted_index(), key=lambda row: row["name"])
    ]


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
