"""Use case: measurement tables in files to a calibration, as ``estimator calibrate --from`` asks."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING

from estimator.app.case_networks import open_network
from estimator.app.case_prediction import CasePredictor
from estimator.app.case_work import Works
from estimator.app.joint_calibration import JointRuns
from estimator.app.recalibration import product_observations, recalibrate
from estimator.app.thinning import thinned
from estimator.app.trust import ALIASES
from estimator.calibrate.case import interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.catalog.calibration import load_prior
from estimator.catalog.store import bundled_root
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from estimator.app.recalibration import Recalibration
    from estimator.calibrate.case import Case
    from estimator.calibrate.observation import Observation
    from estimator.calibrate.report import DeviceBasis

BASES = "bases.csv"
_TABLES = ("*.csv", "*.csv.gz")


def recalibrate_from(paths: Sequence[Path]) -> Recalibration:
    """Calibrate from tables, or folders of them with single products under ``kernels``.

    Raises InputError for a path that is not there or a table that cannot be read.
    """
    predictor, cases = _cases_from(paths)
    return recalibrate(_observations(predictor, cases, paths), JointRuns(predictor=predictor, cases=cases))


def observations_from(paths: Sequence[Path]) -> list[Observation]:
    """Return the steps and products of the tables that a fit can use, in the order of their names."""
    predictor, cases = _cases_from(paths)
    return _observations(predictor, cases, paths)


def _cases_from(paths: Sequence[Path]) -> tuple[CasePredictor, list[Case]]:
    aliases = read_alias_tables(bundled_root() / ALIASES)
    rows = [row for table in _tables(paths) for row in read_measurements(table)]
    works = Works(open_network, processes=os.cpu_count() or 1)
    return CasePredictor(aliases, works, load_prior()), thinned(interpret_all(rows, aliases)[0])


def _observations(
    predictor: CasePredictor, cases: Sequence[Case], paths: Sequence[Path]
) -> list[Observation]:
    products = [one for path in paths if path.is_dir() for one in product_observations(path)]
    return [observation for observation, _family in predictor.observe(cases)] + products


def bases_csv(bases: Sequence[DeviceBasis]) -> str:
    """Return one line a device: what its figures rest on, and how well they fit it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        (
            "device",
            "architecture",
            "basis",
            "rows",
            "networks",
            "own_scales",
            "median_error",
            "bias",
            "sources",
        )
    )
    for one in bases:
        own = "yes" if one.own_scales else "no"
        writer.writerow(
            (one.device, one.architecture, one.tier, one.rows, one.networks, own,
             f"{one.median_error:.3f}", f"{one.bias:+.3f}", "; ".join(one.sources))
        )  # fmt: skip
    return text.getvalue()


def _tables(paths: Sequence[Path]) -> list[Path]:
    found = []
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no {str(path)!r}")
        found += sorted(t for pattern in _TABLES for t in path.glob(pattern)) if path.is_dir() else [path]
    if not found:
        raise InputError("--from names no measurement table", hint="end tables in .csv or .csv.gz")
    return found
