"""The keys of the other hardware profiles: interconnects, cloud instances, labels, publications."""

from __future__ import annotations

from estimator.catalog.schema import Either, ListOf, Number, Table, Text
from estimator.provenance import Basis

_BASIS = Text(choices=tuple(Basis))
_PROVENANCE = Table(fields={"source": Text(), "basis": _BASIS, "note": Text()}, required=("source", "basis"))
_CITED = Either(Text(), Table(fields={"key": Text(), "source": Text(), "basis": _BASIS, "note": Text()}))
SOURCES = Table(
    fields={"format": Number(low=1, high=1, whole=True), "entries": Table(others=_PROVENANCE)},
    required=("format", "entries"),
)
INTERCONNECT = Table(
    fields={
        "format": Number(low=1, high=1, whole=True),
        "id": Text(pattern=r"[a-z0-9][a-z0-9.-]*", example="pcie-4"),
        "name": Text(),
        "scope": Text(choices=("within", "between")),
        "alpha_us": Number(low=0, high=10_000),
        "alpha_per_device_us": Number(low=0, high=1_000),
        "bus_gb_per_s": Number(low=0.01, high=10_000),
        "ramp": Number(low=0, high=0.99),
        "bus_gb_per_s_by_devices": Table(others=Number(low=0.01, high=10_000)),
        "domain": Number(low=2, high=100_000, whole=True),
        "aliases": ListOf(item=Text()),
        "note": Text(),
        "sources": Table(others=_CITED),
    },
    required=("format", "id", "name", "scope", "alpha_us", "bus_gb_per_s", "sources"),
)
_INSTANCE = Table(
    fields={
        "device": Text(),
        "count": Number(low=1, high=128, whole=True),
        "vcpus": Number(low=1, high=2048, whole=True),
        "cpu": Text(),
        "source": Text(),
        "note": Text(),
    },
    required=("device", "source"),
)
INSTANCES = Table(
    fields={"format": Number(low=1, high=1, whole=True), "entries": Table(others=_INSTANCE)},
    required=("format", "entries"),
)
_LABEL = Table(
    fields={
        "device": Text(),
        "count": Number(low=1, high=128, whole=True),
        "sockets": Number(low=1, high=8, whole=True),
        "cores": Number(low=1, high=1024, whole=True),
        "threads": Number(low=1, high=1024, whole=True),
        "assumed": Text(),
        "unresolvable": Text(),
    }
)
LABELS = Table(
    fields={"format": Number(low=1, high=1, whole=True), "entries": Table(others=_LABEL)},
    required=("format", "entries"),
)
