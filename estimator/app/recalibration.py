"""Use case: measurement tables to calibration files, with ranges from what each fit had not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from estimator.calibrate.fit import Problem
from estimator.calibrate.kernel_rows import read_products
from estimator.calibrate.ranges import cross_validate, sample, spreads_of
from estimator.calibrate.report import device_bases
from estimator.catalog.calibration import calibration_texts, load_prior
from estimator.catalog.lookup import load_device

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from estimator.app.joint_calibration import JointRuns
    from estimator.calibrate.observation import Observation
    from estimator.calibrate.ranges import Residual
    from estimator.calibrate.report import DeviceBasis
    from estimator.hardware.efficiency import Calibration

KERNELS = "kernels"
_LEFT_OUT = ("device", "architecture", "network", "source")
_SOURCE = "residuals of shipped measurements, predicted without their device, architecture, network or source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration:
    """The content of each calibration file by name, and what each device's figures rest on."""

    texts: dict[str, str]
    bases: tuple[DeviceBasis, ...]
    rows: int


def product_observations(measured: Path) -> list[Observation]:
    """Return the single products that the tables under ``measured`` hold."""
    tables = sorted((measured / KERNELS).glob("*.csv"))
    return [seen for table in tables for seen in read_products(table, load_device)]


def recalibrate(observations: Sequence[Observation], joint: JointRuns | None = None) -> Recalibration:
    """Fit the observations, beginning from the prior; equal observations give equal bytes.

    ``joint`` are runs on several devices, which add what steps of single devices do not tell.
    """
    prior = load_prior()
    problem = Problem(observations, prior)
    use = problem.plausible()
    fitted = problem.fit(use)
    kept = [one for one, used in zip(observations, use, strict=True) if used]
    drawn = Problem(sample(kept), prior)
    base = drawn.fit()
    calibration = joint.finish(fitted.calibration) if joint else fitted.calibration
    known = replace(calibration, spreads=prior.spreads)

    def others(by: str, keys: frozenset[str], found: Calibration) -> list[Residual]:
        return joint.residuals(by, keys, found, known) if joint else []

    residuals = [one for by in _LEFT_OUT for one in cross_validate(drawn, by, base, others)]
    spreads = dict(sorted({**prior.spreads, **spreads_of(residuals, _SOURCE)}.items()))
    calibration = replace(calibration, spreads=spreads)
    return Recalibration(
        texts=calibration_texts(calibration),
        bases=device_bases(kept, replace(fitted, calibration=calibration, residuals=fitted.residuals[use])),
        rows=len(kept),
    )
