"""Selects the measurement rows that ship: usable, understood, with source, licence and trust on each."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.calibrate.case import Case, interpret
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.rows import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow

_BASELINES = "predicted_{}_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated:
    """Rows to ship, and how many were left out for which reason."""

    rows: tuple[MeasuredRow, ...]
    left_out: Counter[str]


def curate(rows: Iterable[MeasuredRow], tables: AliasTables) -> Curated:
    """Keep rows that can be compared with a prediction and that their collector does not warn of.

    Licence and trust that stand in a source's description are written on each row; a row without a licence
    or a source is left out.
    """
    kept: list[MeasuredRow] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        found = interpret(row, tables)
        if not isinstance(found, Case):
            left_out[found.reason] += 1
        elif found.why_unusable:
            left_out[found.why_unusable] += 1
        else:
            source = tables.sources.get(row.source_id, {})
            whole = replace(row, licence=row.licence or source.get("licence", ""), trust=found.trust)
            if whole.licence and whole.source:
                kept.append(whole)
            else:
                left_out["no licence or no source"] += 1
    return Curated(rows=tuple(kept), left_out=left_out)


def table_text(rows: Sequence[MeasuredRow]) -> str:
    """Write rows as a measurement table; baselines are added as columns where any row has them."""
    names = sorted({name for row in rows for name, _ in row.baselines})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *(_BASELINES.format(name) for name in names)])
    for row in rows:
        known = dict(row.baselines)
        extra = [f"{1e3 * known[name]:.6g}" if name in known else "" for name in names]
        writer.writerow([_cell(row, name) for name in COLUMNS] + extra)
    return text.getvalue()


def _cell(row: MeasuredRow, name: str) -> str:
    value = row.devices if name == "num_devices" else getattr(row, name)
    if isinstance(value, float):
        return f"{value:.10g}"
    return "" if value is None else str(value)


def packed(text: str) -> bytes:
    """Gzip text without a time stamp, so that the same rows give the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as file:
        file.write(text.encode())
    return buffer.getvalue()


def main(arguments: Sequence[str] | None = None) -> None:
    """Curate raw tables: ``python -m estimator.calibrate.curate RAW.csv.gz … --aliases DIR --out DIR``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("raw", nargs="+", type=Path)
    parser.add_argument("--aliases", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    tables = read_alias_tables(chosen.aliases)
    for path in chosen.raw:
        found = curate(read_measurements(path), tables)
        target = chosen.out / f"{path.name.partition('.')[0]}.csv.gz"
        target.write_bytes(packed(table_text(found.rows)))
        sys.stdout.write(f"{target}: {len(found.rows)} rows, {found.left_out.total()} left out\n")
        for reason, count in found.left_out.most_common():
            sys.stdout.write(f"  {count:6} {reason}\n")


if __name__ == "__main__":
    main()
