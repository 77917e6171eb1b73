"""What a label of a measurement table stands for: as a name, or as its own entry says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.catalog.catalogue import current_catalogue
from estimator.catalog.cpu_parts import of_sockets, slice_of, with_cores
from estimator.catalog.lookup import Resolution, resolve_device
from estimator.errors import InputError
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from estimator.catalog.records import Record


def resolve_label(label: str) -> Resolution:
    """Return what a label stands for, assumptions included; InputError with the reason when nothing.

    ``count`` is the number of devices one row of the table calls one device (a Cloud TPU has four chips).
    """
    record = current_catalogue().records.labels.get(label)
    if record is None:
        return resolve_device(label)
    if "unresolvable" in record:
        raise InputError(f"no device for {label!r}: {record['unresolvable']}")
    return _of_entry(label, record)


def unresolvable_labels() -> dict[str, str]:
    """Return the labels that stand for no one device, with the reason of each."""
    labels = current_catalogue().records.labels
    return {label: record["unresolvable"] for label, record in labels.items() if "unresolvable" in record}


def _of_entry(label: str, record: Record) -> Resolution:
    device = current_catalogue().device(record["device"])
    if "sockets" in record:
        device = of_sockets(device, record["sockets"])
    if "cores" in record:
        device = with_cores(device, record["cores"])
    if "threads" in record:
        device = slice_of(device, threads=record["threads"], what=label)
    resolution = Resolution(device=device, count=record.get("count", 1))
    if "assumed" not in record:
        return resolution
    taken = Assumption(what=f"which device {label!r} is", value=device.name, why=record["assumed"])
    return replace(resolution, assumptions=(taken,))
