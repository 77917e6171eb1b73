"""Where a number comes from: its source and its basis, what was found and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """What kind of evidence a number rests on, strongest first."""

    MEASURED_HERE = "measured here"
    DETECTED = "detected"
    CALIBRATED = "calibrated"
    MEASURED = "measured elsewhere"
    DATASHEET = "datasheet"
    WHITEPAPER = "whitepaper"
    OPEN_TABLE = "open table"
    DERIVED = "derived"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The evidence behind one number: ``source`` an address or a title, ``note`` a caveat."""

    source: str
    basis: Basis
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that could not be learned or looks wrong: what, why, and what to do about it."""

    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Something the answer takes for granted: what, the value taken, and why that value."""

    what: str
    value: str
    why: str
