"""What a label of a measurement table stands for: as a name, or as its own entry says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.catalog.catalogue import current_catalogue
from estimator.catalog.cpu_parts import of_sockets, slice_of, with_cores
from estimator.catalog.lookup import Resolution, resolve_device
from estimator.errors import InputError
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from estimator.catalog.records import Record

_ASIDE = re.compile(r"\([^()]*\)")
# An aside with one of these says which device it is and must not be skipped.
_VARIANT = re.compile(r"\d\s*gi?b|laptop|mobile|max-?q|core|thread|sxm|pcie|super|ti\b|\d{3,}", re.IGNORECASE)


def resolve_label(label: str) -> Resolution:
    """Return what a label stands for, assumptions included; InputError with the reason when nothing.

    ``count`` is the number of devices one row of the table calls one device (a Cloud TPU has four chips).
    """
    record = current_catalogue().records.labels.get(label)
    if record is None:
        return _of_name(label)
    if "unresolvable" in record:
        raise InputError(f"no device for {label!r}: {record['unresolvable']}")
    return _of_entry(label, record)


def unresolvable_labels() -> dict[str, str]:
    """Return the labels that stand for no one device, with the reason of each."""
    labels = current_catalogue().records.labels
    return {label: record["unresolvable"] for label, record in labels.items() if "unresolvable" in record}


def _of_name(label: str) -> Resolution:
    """Read a label as a name; else without what stands in parentheses, unless that names a variant."""
    try:
        return resolve_device(label)
    except InputError:
        asides = _ASIDE.findall(label)
        if not asides or any(_VARIANT.search(aside) for aside in asides):
            raise
    name = _ASIDE.sub(" ", label).strip()
    resolution = resolve_device(name)
    unread = " ".join(asides)
    taken = Assumption(
        what=f"the device of {label!r}", value=resolution.device.name, why=f"{unread} is no part of a name"
    )
    return replace(resolution, assumptions=(*resolution.assumptions, taken))


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
