"""One row of a price table: what it costs, in which currency, when, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    import datetime as dt


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What every row has: ``layer`` is the file it stands in, from flag over user to bundled."""

    as_of: dt.date
    source: str
    licence: str
    note: str = ""
    layer: str = ""

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        raise NotImplementedError

    def age_days(self, today: dt.date) -> int:
        """Return how old the row is."""
        return (today - self.as_of).days


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchasePrice(Dated):
    """The price of one board; ``price_kind`` is launch, list, a share of a system, or an estimate."""

    table: ClassVar[str] = "purchase"
    device: str
    label: str
    price: float
    currency: str
    price_kind: str = "list"

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        return self.device or self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class RentPrice(Dated):
    """What a provider takes an hour for ``count`` devices; an instance without a name has ``instance`` ''."""

    table: ClassVar[str] = "rent"
    provider: str
    instance: str
    device: str
    label: str
    count: int
    currency: str
    vcpus: int | None = None
    region: str = ""
    price_per_hour: float | None = None
    spot_per_hour: float | None = None
    year_per_hour: float | None = None
    three_years_per_hour: float | None = None

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces: the instance, or the devices of a provider."""
        return f"{self.provider}:{self.instance or f'{self.count}x {self.device or self.label}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectricityPrice(Dated):
    """The price of electrical energy for a household or a business in a region."""

    table: ClassVar[str] = "electricity"
    region: str
    name: str
    consumer: str
    price_per_kwh: float
    currency: str

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        return self.region


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonIntensity(Dated):
    """The mean greenhouse gas of a region's electrical energy."""

    table: ClassVar[str] = "carbon"
    region: str
    name: str
    g_co2e_per_kwh: float

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        return self.region


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead(Dated):
    """A factor between the power of devices and of a whole machine in its room."""

    table: ClassVar[str] = "overheads"
    name: str
    value: float
    unit: str
    basis: str

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRate(Dated):
    """One unit of ``currency`` is ``rate`` of ``to``."""

    table: ClassVar[str] = "rates"
    currency: str
    to: str
    rate: float

    @property
    def key(self) -> str:
        """What a row of a stronger file replaces."""
        return f"{self.currency}:{self.to}"


Row: TypeAlias = PurchasePrice | RentPrice | ElectricityPrice | CarbonIntensity | Overhead | ExchangeRate
# Days after which a price is called stale: hardware and rents move within a year, tariffs in two.
STALE_DAYS = {
    "purchase": 365, "rent": 365, "electricity": 730, "carbon": 1460, "overheads": 3650, "rates": 365,
}  # fmt: skip
