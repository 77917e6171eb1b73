"""Makes the snapshot that is loaded in place of hundreds of YAML files (``make catalogue``)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from estimator.catalog.check import check_records
from estimator.catalog.reading import read_root
from estimator.catalog.records import snapshot_text, with_words
from estimator.catalog.store import SNAPSHOT, bundled_root
from estimator.errors import EstimatorError, combined

if TYPE_CHECKING:
    from pathlib import Path


def build_snapshot(root: Path) -> str:
    """Return the snapshot of all profiles under a root; raises every error of every file."""
    records = read_root(root)
    errors = check_records(records)
    if errors:
        raise combined(errors)
    return snapshot_text(with_words(records))


def main() -> int:
    """Write the snapshot of the bundled profiles; 1 when a profile is wrong."""
    root = bundled_root()
    try:
        text = build_snapshot(root)
    except EstimatorError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    path = root / SNAPSHOT
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {path} ({len(text) // 1024} KiB)\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
