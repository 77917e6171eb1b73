"""Reading what is typed at ``plan``: weights, money, watts, prices and rates of flags."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from estimator.catalog.currencies import currency_code
from estimator.catalog.labels import resolve_label
from estimator.catalog.price_files import day
from estimator.catalog.price_rows import ExchangeRate, PurchasePrice
from estimator.errors import InputError

if TYPE_CHECKING:
    import datetime as dt

    from estimator.catalog.prices import PriceBook

_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP"}
_MONEY = re.compile(r"(?P<sign>[$€£])?\s*(?P<number>[0-9][0-9,]*(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]{3})?")
_WATTS = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>k?W)?", re.IGNORECASE)
_RATE = re.compile(r"([A-Za-z]{3}):([A-Za-z]{3})=([0-9.]+)(?:@(\S+))?")
_FLAG = {"source": "flag of the command line", "licence": "own figure", "layer": "flag"}


def weighted(text: str) -> tuple[str, float]:
    """Read ``resnet50`` or ``resnet50=3``: a network and how many runs of it count as one."""
    name, separator, weight = text.rpartition("=")
    if not separator:
        return text, 1.0
    try:
        value = float(weight)
    except ValueError:
        return text, 1.0
    if not math.isfinite(value) or value <= 0:
        raise InputError(f"{text!r}: a weight is a number above 0", hint="write resnet50=3")
    return name, value


def currency_of(text: str) -> str:
    """Read ``--currency``."""
    try:
        return currency_code(text)
    except ValueError as error:
        raise InputError(f"--currency: {error}", hint="write its code: USD, EUR, GBP, CNY") from None


def money(text: str, flag: str, currency: str, book: PriceBook) -> float:
    """Read ``5000``, ``$5,000`` or ``5000 EUR`` as an amount of ``currency``."""
    match = _MONEY.fullmatch(text.strip())
    if match is None or float(match["number"].replace(",", "")) <= 0:
        raise InputError(f"{flag}: cannot read {text!r} as money", hint='write 5000, "$5,000" or "5000 EUR"')
    amount = float(match["number"].replace(",", ""))
    given = (match["unit"] or _SIGNS.get(match["sign"] or "") or currency).upper()
    if given == currency:
        return amount
    rate = book.rate(given, currency)
    if rate is None:
        raise InputError(
            f"{flag}: no dated rate turns {given} into {currency}",
            hint=f"give --rate {given}:{currency}=1.08@2026-01-31, or --currency {given}",
        )
    return amount * rate.rate


def watts(text: str) -> float:
    """Read ``1500``, ``1500W`` or ``1.5 kW``."""
    match = _WATTS.fullmatch(text.strip())
    if match is None or float(match["number"]) <= 0:
        raise InputError(f"--power-cap: cannot read {text!r} as power", hint="write 1500W or 1.5kW")
    return float(match["number"]) * (1000.0 if (match["unit"] or "").lower() == "kw" else 1.0)


def rate_row(text: str, today: dt.date) -> ExchangeRate:
    """Read ``EUR:USD=1.08@2026-01-31``; without a day it is today's."""
    match = _RATE.fullmatch(text.strip())
    try:
        value = float(match[3]) if match else 0.0
        as_of = day(match[4]) if match and match[4] else today
    except ValueError as error:
        raise InputError(f"--rate: {error}") from None
    if match is None or not math.isfinite(value) or value <= 0:
        raise InputError(f"--rate: cannot read {text!r}", hint="write EUR:USD=1.08@2026-01-31")
    return ExchangeRate(currency=match[1].upper(), to=match[2].upper(), rate=value, as_of=as_of, **_FLAG)


def price_row(text: str, currency: str, today: dt.date) -> PurchasePrice:
    """Read ``RTX 4090=1750`` or ``RTX 4090=1750 EUR``: what one board costs today."""
    name, separator, amount = text.rpartition("=")
    match = _MONEY.fullmatch(amount.strip()) if separator else None
    if match is None or float(match["number"].replace(",", "")) <= 0:
        raise InputError(f"--price: cannot read {text!r}", hint='write "RTX 4090=1750"')
    return PurchasePrice(
        device=resolve_label(name.strip()).device.id,
        label=name.strip(),
        price=float(match["number"].replace(",", "")),
        currency=(match["unit"] or _SIGNS.get(match["sign"] or "") or currency).upper(),
        as_of=today,
        **_FLAG,
    )
