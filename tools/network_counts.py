"""Counts the zoo and records the result, for ``estimator networks list`` (``make counts``)."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from estimator.app.networks import count_network
from estimator.catalog.network_counts import RECORD, digests
from estimator.catalog.networks import zoo
from estimator.catalog.store import bundled_root


def main() -> int:
    """Write the record of all bundled networks."""
    root = bundled_root()
    files = {name: path for name, path in zoo().items() if path.is_relative_to(root)}
    rows = {
        name: {"digest": digest, **asdict(count_network(name))}
        for name, digest in sorted(digests(files).items())
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    (root / RECORD).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    sys.stdout.write(f"counted {len(rows)} networks\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
