"""The shipped predictor of measured cases, and the same one calibrated without a group of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.case_networks import open_network
from estimator.app.case_prediction import CasePredictor
from estimator.app.case_work import Works
from estimator.app.joint_calibration import JointRuns
from estimator.app.recalibration import product_observations
from estimator.app.thinning import thinned
from estimator.calibrate.case import interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.fit import Problem
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.catalog.calibration import load_calibration, load_prior
from estimator.catalog.store import bundled_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.calibrate.case import Case
    from estimator.calibrate.fit import Fit
    from estimator.calibrate.observation import Observation
    from estimator.calibrate.row_aliases import AliasTables

ALIASES, MEASURED = "aliases", "measured"


@dataclass(frozen=True, kw_only=True)
class ShippedPredictor:
    """What ``evaluate`` needs: label tables, the calibrated predictor, and how to calibrate it anew."""

    tables: AliasTables
    predict: CasePredictor

    @cached_property
    def _measured(self) -> tuple[Case, ...]:
        """The shipped measurements as cases."""
        paths = sorted((bundled_root() / MEASURED).glob("*.csv.gz"))
        rows = [row for path in paths for row in read_measurements(path)]
        return tuple(thinned(interpret_all(rows, self.tables)[0]))

    @cached_property
    def _observed(self) -> list[tuple[Observation, str]]:
        """The shipped measurements that calibrate, and the family of each one's network."""
        return self.predict.observe(self._measured)

    @cached_property
    def _products(self) -> list[Observation]:
        """The shipped single products: no row of a table of whole steps is among them."""
        return product_observations(bundled_root() / MEASURED)

    def refit(self, by: str, keys: frozenset[str]) -> CasePredictor:
        """Return the predictor calibrated without the rows of some groups."""
        key_of: dict[str, Callable[[Observation, str], str]] = {
            "device": lambda seen, _family: seen.device.id,
            "source_id": lambda seen, _family: seen.source,
            "family": lambda _seen, family: family,
            "architecture": lambda seen, _family: seen.device.architecture.id,
            "framework": lambda seen, _family: seen.software.framework,
        }
        kept = np.array([key_of[by](seen, family) not in keys for seen, family in self._observed])
        use = self._problem.plausible()
        use[: len(kept)] &= kept
        # From the fit of all rows it is a short way; what the group alone decides returns to the prior.
        fitted = self._problem.fit(use, begin=self._whole).calibration
        group = self._joint.group_of(by)
        finished = self._joint.finish_without(fitted, load_calibration(), lambda case: group(case) in keys)
        return self.predict.with_calibration(replace(finished, spreads=load_calibration().spreads))

    @cached_property
    def _joint(self) -> JointRuns:
        """The runs on several devices among the shipped measurements."""
        return JointRuns(predictor=self.predict, cases=self._measured)

    @cached_property
    def _problem(self) -> Problem:
        """All that calibrates, made ready once: the steps first, then the products."""
        return Problem([*(seen for seen, _ in self._observed), *self._products], load_prior())

    @cached_property
    def _whole(self) -> Fit:
        return self._problem.fit(self._problem.plausible())


def shipped_predictor(*, keep: bool = False) -> ShippedPredictor:
    """Return the predictor with what ships: aliases, zoo, devices and calibration.

    ``keep`` holds all kernels in memory, for callers that predict the same rows several times.
    """
    tables = read_alias_tables(bundled_root() / ALIASES)
    works = Works(open_network, processes=os.cpu_count() or 1, keep=keep)
    return ShippedPredictor(tables=tables, predict=CasePredictor(tables, works, load_calibration()))
