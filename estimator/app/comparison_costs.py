"""What the runs of a comparison cost: energy at the wall, its price, and the price of the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.planning.energy import KWH_J, Overheads
from estimator.results.prediction import DeviceCost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.catalog.prices import PriceBook
    from estimator.results.prediction import Prediction

REGION = "USA"


def costs_of(
    predictions: Sequence[Prediction], book: PriceBook, region: str = REGION
) -> tuple[DeviceCost, ...]:
    """Return a cost a prediction; what is not known (a price, a power limit, a length of run) is None.

    Energy is the devices' power limit at the usual busy share, with host and cooling, over the run (or
    one epoch where the run has no end).
    """
    overheads = Overheads(
        busy=book.overhead("busy_power_share").value,
        waiting=book.overhead("waiting_power_share").value,
        host=book.overhead("host_power_share").value,
        cooling=book.overhead("cooling_factor").value,
    )
    electricity = book.electricity(region)
    purchases = book.purchases()
    costs = []
    for p in predictions:
        run_s = p.total_s if p.total_s is not None else p.epoch_s
        limit_w = p.device.power_limit_w
        energy_j = None
        if run_s is not None and limit_w is not None:
            energy_j = overheads.average_w(limit_w * p.device.devices, 1.0) * run_s
        row = purchases.get(p.device.id)
        price = electricity.price_per_kwh if electricity is not None else None
        costs.append(
            DeviceCost(
                id=p.device.id,
                devices=p.device.devices,
                energy_j=energy_j,
                electricity=None if energy_j is None or price is None else energy_j / KWH_J * price,
                electricity_currency=electricity.currency if electricity is not None else None,
                price=None if row is None else row.price * p.device.devices,
                currency=None if row is None else row.currency,
                as_of=None if row is None else str(row.as_of),
                source=None if row is None else row.source,
            )
        )
    return tuple(costs)
