"""The systems a plan chooses from: devices of the catalogue by number, instances to rent, this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.plan_ask import USUAL_COUNTS
from estimator.app.systems import joined_system
from estimator.catalog.lookup import all_devices, resolve_device
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.planning.option import Way
from estimator.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.app.plan_ask import Ask
    from estimator.catalog.price_rows import RentPrice
    from estimator.catalog.prices import PriceBook
    from estimator.hardware.device import Device
    from estimator.hardware.system import System

_ONE_A_HOST = frozenset({"salad"})  # rents containers with one GPU each: several share no host
_NOT_SOLD = frozenset({"laptop", "embedded", "cloud"})  # not as a part one could build in


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A system and how one gets at it; of rented ones the row and how many instances of it."""

    name: str
    way: Way
    device: Device
    count: int
    rent: RentPrice | None = None
    instances: int = 1
    sold: bool = True


def offers(ask: Ask, book: PriceBook) -> tuple[list[Offer], list[str]]:
    """Return all offers and what was left out."""
    warnings: list[str] = []
    found: list[Offer] = []
    if Way.OWN in ask.ways:
        found += [
            Offer(name=name, way=Way.OWN, device=device, count=count) for name, device, count in ask.here
        ]
    if Way.BUY in ask.ways:
        found += _to_buy(ask, warnings)
    if Way.RENT in ask.ways:
        found += _to_rent(ask, book, warnings)
    return found, warnings


def _to_buy(ask: Ask, warnings: list[str]) -> Iterator[Offer]:
    old = 0
    for device in all_devices():
        if ask.devices is not None and device.id not in ask.devices:
            continue
        if ask.devices is None and _too_old(device, ask):
            old += 1
            continue
        sold = device.form_factor not in _NOT_SOLD
        for count in ask.counts:
            name = f"{count}x {device.id}"
            yield Offer(name=name, way=Way.BUY, device=device, count=count, sold=sold)
    if old:
        warnings.append(
            f"left out as released before {ask.first_year}: {counted(old, 'device')}; --since takes them in"
        )


def _too_old(device: Device, ask: Ask) -> bool:
    return device.released is not None and int(device.released[:4]) < ask.first_year


def _to_rent(ask: Ask, book: PriceBook, warnings: list[str]) -> Iterator[Offer]:
    rows = [row for row in book.rents() if row.device]
    named = {(row.provider, row.device) for row in rows if row.instance}
    old = 0
    for row in rows:
        per_chip = not row.instance and row.count == 1
        if per_chip and (row.provider, row.device) in named:
            continue  # the share of an instance that is listed itself
        try:
            device = resolve_device(row.device).device
        except InputError as error:
            warnings.append(f"rent of {row.key}: {error}")
            continue
        if ask.devices is not None and device.id not in ask.devices:
            continue
        if ask.devices is None and _too_old(device, ask):
            continue
        if row.age_days(ask.today) > ask.price_years * 365.25:
            old += 1
            continue
        yield from _instances(row, device, ask, per_chip=per_chip)
    if old:
        warnings.append(f"{old} rents older than {ask.price_years:g} years are left out; see --price-years")


def _instances(row: RentPrice, device: Device, ask: Ask, *, per_chip: bool) -> Iterator[Offer]:
    """Give one instance; of single devices and of CPU instances also several."""
    many = (per_chip and row.provider not in _ONE_A_HOST) or device.kind is DeviceKind.CPU
    for instances in ask.counts if many else (1,):
        count = row.count * instances
        if ask.counts != USUAL_COUNTS and count not in ask.counts:
            continue
        name = row.key if instances == 1 else f"{instances}x {row.key}"
        if per_chip:
            name = f"{row.provider}:{count}x {row.device}"
        yield Offer(name=name, way=Way.RENT, device=device, count=count, rent=row, instances=instances)


def system_of(device: Device, count: int, link: str | None) -> System | None:
    """Return the devices with what joins them; None where neither a link was named nor one is usual."""
    try:
        return joined_system(device, count, link, ()).system
    except InputError:
        if link is not None:
            raise
        return None
