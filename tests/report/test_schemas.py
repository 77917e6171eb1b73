"""The shipped JSON Schemas are what the result types say today."""

from __future__ import annotations

from importlib.resources import files

from estimator.results.ship import schema_texts


def test_shipped_schemas_are_current() -> None:
    folder = files("estimator.results") / "schemas"
    shipped = {entry.name: entry.read_text() for entry in folder.iterdir()}
    assert shipped == schema_texts()
