"""Writes the accuracy page and its drawing from the shipped measurements: `python tools/accuracy.py docs`.

`python tools/accuracy.py docs --memory` writes only the page's section on memory, which takes minutes: the
rest of the page stays as it is.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.app.accuracy import accuracy
from estimator.app.accuracy_memory import memory_accuracy
from estimator.app.thinning import thinned
from estimator.app.trust import MEASURED, shipped_predictor
from estimator.calibrate.case import interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.catalog.store import bundled_root
from estimator.report.accuracy import accuracy_page
from estimator.report.accuracy_memory import memory_section, with_memory
from estimator.report.scatter import scatter_svg

if TYPE_CHECKING:
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

PAGE, PLOT = "accuracy.md", "accuracy.svg"
MEMORY = "memory.csv"


def measured_rows() -> list[MeasuredRow]:
    """Read the shipped tables of times."""
    paths = sorted((bundled_root() / MEASURED).glob("*.csv.gz"))
    return [row for path in paths for row in read_measurements(path)]


def sampled(rows: list[MeasuredRow], tables: AliasTables, networks: int) -> list[MeasuredRow]:
    """Keep the rows of so many networks of each source, precision, layout and kind of run, evenly spaced."""
    cases, uncovered = interpret_all(rows, tables)
    kept = {case.row.at for case in thinned(cases, networks)} | {each.row.at for each in uncovered}
    return [row for row in rows if row.at in kept]  # by place: a case's row may have been corrected


def main(folder: Path, *, only_memory: bool, networks: int | None) -> None:
    """Score all boards, and write page and drawing; or write the section on memory alone."""
    shipped = shipped_predictor(keep=True)
    rows = measured_rows()
    memory = memory_accuracy([*read_measurements(bundled_root() / MEASURED / MEMORY), *rows], shipped.tables)
    page = folder / PAGE
    if only_memory:
        page.write_text(
            with_memory(page.read_text(encoding="utf-8"), memory_section(memory)), encoding="utf-8"
        )
        return
    if networks is not None:
        rows = sampled(rows, shipped.tables, networks)
    result = accuracy(rows, tables=shipped.tables, predict=shipped.predict, refit=shipped.refit)
    page.write_text(accuracy_page(replace(result, memory=memory), PLOT, networks), encoding="utf-8")
    title = "predicted against measured seconds a step, each device unseen"
    (folder / PLOT).write_text(scatter_svg(result.points, title), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs"))
    parser.add_argument("--memory", action="store_true", help="write only the section on memory")
    parser.add_argument("--networks", type=int, help="of a source, precision, layout and kind of run at most")
    chosen = parser.parse_args()
    main(chosen.folder, only_memory=chosen.memory, networks=chosen.networks)
