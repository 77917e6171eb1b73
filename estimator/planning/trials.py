"""The time of many trials: one after the other over all devices, or side by side, one a device."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """``count`` runs with other hyper-parameters; ``parallel``: each device takes one by itself."""

    count: int = 1
    parallel: bool = False

    def experiment_s(self, run_s: float, alone_s: float, devices: int) -> float:
        """Return the time of all trials: ``run_s`` on all devices, ``alone_s`` on one."""
        if self.parallel:
            return math.ceil(self.count / devices) * alone_s
        return self.count * run_s
