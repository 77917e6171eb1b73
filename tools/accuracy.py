"""Writes the accuracy page and its drawing from the shipped measurements: `python tools/accuracy.py docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from estimator.app.accuracy import accuracy
from estimator.app.trust import MEASURED, shipped_predictor
from estimator.calibrate.cpu_rows import read_measurements
from estimator.catalog.store import bundled_root
from estimator.report.accuracy import accuracy_page
from estimator.report.scatter import scatter_svg

PLOT = "accuracy.svg"


def main(folder: Path) -> None:
    """Score all boards, and write page and drawing."""
    shipped = shipped_predictor(keep=True)
    paths = sorted((bundled_root() / MEASURED).glob("*.csv.gz"))
    rows = [row for path in paths for row in read_measurements(path)]
    result = accuracy(rows, tables=shipped.tables, predict=shipped.predict, refit=shipped.refit)
    (folder / "accuracy.md").write_text(accuracy_page(result, PLOT), encoding="utf-8")
    title = "predicted against measured seconds a step, each device unseen"
    (folder / PLOT).write_text(scatter_svg(result.points, title), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
