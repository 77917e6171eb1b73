"""The framework a step runs on, as factors on the time of its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.hardware.efficiency import SoftwareFactors

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration
    from estimator.software import Software

_NEUTRAL = SoftwareFactors(framework="pytorch", until=9999)


def software_factors(calibration: Calibration, software: Software) -> SoftwareFactors:
    """Return the factors of the first release that is not older than the one asked for.

    Entries of the framework and mode come first, then of the framework in any mode; a framework without
    measurements gets those of ``any``.
    """
    for framework in (software.framework, "any"):
        for mode in (software.mode, None):
            found = [
                entry for entry in calibration.software
                if entry.framework == framework and entry.mode == mode and software.era <= entry.until
            ]  # fmt: skip
            if found:
                return min(found, key=lambda entry: entry.until)
    return _NEUTRAL
