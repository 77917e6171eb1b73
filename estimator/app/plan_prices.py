"""What offers cost: prices converted by dated rates, electricity, and the sum for a run and an experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.plan_ask import USUAL_REGION
from estimator.catalog.price_rows import STALE_DAYS
from estimator.hardware.architecture import DeviceKind
from estimator.planning.energy import Overheads
from estimator.planning.money import owned_per_hour, running_per_hour
from estimator.planning.option import Way
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from estimator.app.fleet_runs import DeviceStep
    from estimator.app.plan_ask import Ask
    from estimator.app.plan_systems import Offer
    from estimator.catalog.price_rows import Dated, PurchasePrice
    from estimator.catalog.prices import PriceBook
    from estimator.planning.option import Option

_PER_HOST = {DeviceKind.CPU: 1, DeviceKind.GPU: 8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """What an offer costs in the plan's currency; None where a price or rate is missing."""

    buy: float | None
    rent_per_hour: float | None
    per_hour: float | None
    electricity_per_hour: float | None
    row: Dated | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """An offer worked out: what is chosen from, what it costs, and each network's step on its device."""

    offer: Offer
    option: Option
    money: Money
    steps: tuple[DeviceStep, ...]
    low: float
    high: float


class Purse:
    """The prices of one plan, in its currency, with what was taken for granted and what is missing."""

    def __init__(self, ask: Ask, book: PriceBook) -> None:
        self.ask = ask
        self.book = book
        self.assumptions: list[Assumption] = []
        self.warnings: dict[str, None] = {}
        self._purchases = book.purchases()
        self.overheads = self._overheads()
        self.region = book.region(ask.region or USUAL_REGION)
        self.price_per_kwh = self._electricity()
        carbon = book.carbon(self.region)
        self.g_per_kwh = carbon.g_co2e_per_kwh if carbon else None
        if carbon is None:
            self.warnings[f"no carbon intensity of {self.region} is known"] = None

    def _overheads(self) -> Overheads:
        found = {name: self.book.overhead(name) for name in _FACTORS}
        cooling = self.ask.cooling if self.ask.cooling is not None else found["cooling_factor"].value
        self.assumptions += [
            Assumption(
                what="power",
                value=f"{found['busy_power_share'].value:.0%} of the limit while busy, "
                f"{found['waiting_power_share'].value:.0%} while waiting",
                why=found["busy_power_share"].source,
            ),
            Assumption(
                what="host beside the devices",
                value=f"{found['host_power_share'].value:.0%} more power",
                why=f"{found['host_power_share'].basis}; prices add overheads changes it",
            ),
            Assumption(
                what="cooling",
                value=f"{cooling:g} times the power of the machine",
                why="--cooling" if self.ask.cooling is not None else found["cooling_factor"].source,
            ),
        ]
        return Overheads(
            busy=found["busy_power_share"].value,
            waiting=found["waiting_power_share"].value,
            host=found["host_power_share"].value,
            cooling=cooling,
        )

    def _electricity(self) -> float | None:
        if self.ask.price_per_kwh is not None:
            return self.ask.price_per_kwh
        row = self.book.electricity(self.region)
        if row is None:
            said = f"no electricity price of {self.region} is known: give --electricity-price"
            self.warnings[said] = None
            return None
        price = self.convert(row.price_per_kwh, row.currency)
        self._age(row, f"electricity in {row.name}")
        if price is not None:
            why = f"{row.source}, {row.as_of}"
            said = "" if self.ask.region else "; not said, change it with --region"
            value = f"{price:.4g} {self.ask.currency}/kWh ({row.name}, {row.consumer})"
            self.assumptions.append(Assumption(what="electricity", value=value, why=why + said))
        return price

    def convert(self, amount: float, currency: str) -> float | None:
        """Return an amount in the plan's currency; None, and a warning, without a dated rate."""
        if currency == self.ask.currency:
            return amount
        rate = self.book.rate(currency, self.ask.currency)
        if rate is None:
            missing = f"prices in {currency} are not converted to {self.ask.currency}: give a dated --rate"
            self.warnings[missing] = None
            return None
        self.assumptions.append(
            Assumption(
                what=f"{currency} in {self.ask.currency}",
                value=f"{rate.rate:.4g}",
                why=f"{rate.source}, {rate.as_of}",
            )
        )
        return amount * rate.rate

    def _age(self, row: Dated, what: str) -> None:
        age = row.age_days(self.ask.today)
        if age > STALE_DAYS[row.table]:  # type: ignore[attr-defined]
            self.warnings[f"the price of {what} is of {row.as_of}, {age / 30.44:.0f} months ago"] = None

    def money(self, offer: Offer, average_w: float | None) -> Money:
        """Return what an offer costs; ``average_w`` is the power it draws, with cooling."""
        running = None
        if average_w is not None and self.price_per_kwh is not None:
            running = running_per_hour(average_w, self.price_per_kwh)
        bought = self._bought(offer)
        buy = None if bought is None else bought[1]
        rent, per_hour = None, None
        row: Dated | None = bought[0] if bought else None
        if offer.way is Way.RENT and offer.rent is not None:
            hourly = offer.rent.spot_per_hour if self.ask.spot else offer.rent.price_per_hour
            converted = None if hourly is None else self.convert(hourly, offer.rent.currency)
            rent = None if converted is None else converted * offer.instances
            per_hour, row = rent, offer.rent
        elif offer.way is Way.OWN:
            buy, per_hour, row = None, running, None
        elif buy is not None and running is not None:
            per_hour = owned_per_hour(buy, self.ask.use, running)
        return Money(buy=buy, rent_per_hour=rent, per_hour=per_hour, electricity_per_hour=running, row=row)

    def _bought(self, offer: Offer) -> tuple[PurchasePrice, float] | None:
        row = self._purchases.get(offer.device.id)
        is_slice = offer.device.memory_bytes is None and offer.device.kind is DeviceKind.CPU and offer.rent
        if row is None or not offer.sold or is_slice:
            return None
        if row.age_days(self.ask.today) > self.ask.price_years * 365.25:
            older = f"is older than {self.ask.price_years:g} years and left out; see --price-years, --price"
            if self.ask.devices is not None:  # asked for by name
                self.warnings[f"the price of {offer.device.name} is of {row.as_of}, {older}"] = None
            return None
        price = self.convert(row.price, row.currency)
        if price is None:
            return None
        boards = math.ceil(offer.count / offer.device.chips_per_board)
        hosts = math.ceil(offer.count / _PER_HOST[offer.device.kind])
        return row, price * boards + hosts * (self.ask.host_price or 0.0)

    def note_age(self, row: Dated | None, what: str) -> None:
        """Warn where a price that decides something is stale."""
        if row is not None:
            self._age(row, what)


_FACTORS = ("busy_power_share", "waiting_power_share", "host_power_share", "cooling_factor")
