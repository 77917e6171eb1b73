"""Recorded machines: a compact YAML a machine, built into a directory tree and looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from detect_shared import expand  # type: ignore[import-not-found] # pytest's path, not mypy's

from estimator.detect import detect_host
from estimator.detect.nvml import RecordedNvml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.detect import HostFacts
    from estimator.detect.recording import Recording

MACHINES = Path(__file__).parent.parent / "machines"


def build(recording: Recording, root: Path) -> None:
    """Write the files of a recording below a directory."""
    for path, text in recording.files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for path, names in recording.listings.items():
        for name in names:
            (root / path.lstrip("/") / name).mkdir(parents=True, exist_ok=True)


def look(recording: Recording, root: Path) -> HostFacts:
    """Build a recorded machine on disk and detect it."""
    build(recording, root)
    seams = recording.seams()
    return detect_host(
        root=root,
        environ=recording.environ,
        nvml=RecordedNvml(recording.nvml) if recording.nvml is not None else None,
        run=seams.run,
        windows=seams.windows,
        system=recording.system,
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long fuzzing out unless it is asked for with ``-m nightly``."""
    if config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("nightly")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture
def detect_machine(tmp_path: Path) -> Callable[[Mapping[str, Any]], HostFacts]:
    """Return a function that detects a machine given in the compact form."""

    def detect(machine: Mapping[str, Any]) -> HostFacts:
        root = tmp_path / f"root{len(list(tmp_path.iterdir()))}"
        root.mkdir()
        return look(expand(machine), root)

    return detect


@pytest.fixture
def load_machine() -> Callable[[str], dict[str, Any]]:
    """Return a function that reads a machine of ``tests/machines`` by name."""

    def load(name: str) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((MACHINES / f"{name}.yaml").read_text(encoding="utf-8"))
        return loaded

    return load


@pytest.fixture
def recording_of() -> Callable[[Mapping[str, Any]], Recording]:
    """Return the function that expands the compact form."""
    expanding: Callable[[Mapping[str, Any]], Recording] = expand
    return expanding
