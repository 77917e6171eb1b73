"""Running commands in this process, with a fixed day and no prices but the bundled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest
from typer.testing import CliRunner

from estimator.cli.main import program

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TODAY = "2025-06-01"


class Run(Protocol):
    """Runs ``estimator`` with arguments."""

    def __call__(self, *arguments: str) -> Result: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a runner whose user and project folders are empty ones of its own."""
    monkeypatch.setenv("ESTIMATOR_TODAY", TODAY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ESTIMATOR_PRICES", "ESTIMATOR_PROFILES", "ESTIMATOR_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> Any:  # noqa: ANN401 - click's result
        return CliRunner().invoke(program(), list(arguments))

    return invoke
