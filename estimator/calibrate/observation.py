"""One measured step, as the fit sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.predict.table import KernelTable
    from estimator.software import Software


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The kernels that ran on one device under one software, and the seconds they took together.

    ``network`` and ``source`` name the groups that are held out together and whose rows share a weight;
    ``precision`` the policy, for the strata of the ranges. ``device_only``: the seconds are those of kernels
    timed on the device, whatever the host did.
    """

    table: KernelTable
    device: Device
    software: Software
    seconds: float
    network: str
    source: str
    precision: str = "fp32"
    device_only: bool = False
