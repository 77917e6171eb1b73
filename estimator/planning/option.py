"""One way to get a training done: a system that is bought, rented or owned, its time and its money."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """How one gets at a system."""

    BUY = "buy"
    RENT = "rent"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """``run_s`` is one run on the system, ``experiment_s`` all trials; low and high bound ``experiment_s``.

    Money is in one currency, None where a price is missing: ``buy`` the devices, ``rent_per_hour`` the
    system, ``per_run`` and ``per_experiment`` what they cost this way. ``power_w`` is drawn at the wall at
    most, ``energy_j`` by one run with its cooling. ``fits`` is None where the memory is not known.
    """

    name: str
    way: Way
    device: str
    kind: str
    count: int
    run_s: float
    experiment_s: float
    low_s: float
    high_s: float
    fits: bool | None
    memory_bytes: int
    power_w: float | None = None
    energy_j: float | None = None
    buy: float | None = None
    rent_per_hour: float | None = None
    per_run: float | None = None
    per_experiment: float | None = None

    @property
    def outlay(self) -> float | None:
        """What has to be paid to get the experiment: the whole price when bought."""
        return self.buy if self.way is Way.BUY else self.per_experiment
