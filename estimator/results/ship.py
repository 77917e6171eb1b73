"""Writes the shipped JSON Schemas: ``python -m estimator.results.ship FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from estimator.results.schema import RESULTS, json_schema


def schema_texts() -> dict[str, str]:
    """Return the shipped files: name to text."""
    return {
        f"{result.schema.split('/')[1]}.json": json.dumps(json_schema(result), indent=1) + "\n"
        for result in RESULTS
    }


def main(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
