from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.calibration import (
    calibration_directory,
    calibration_texts,
    load_calibration,
)
from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_calibration_written_is_the_one_read(tmp_path: Path) -> None:
    shipped = load_calibration()
    texts = calibration_texts(shipped)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_calibration(tmp_path) == shipped
    assert calibration_texts(load_calibration(tmp_path)) == texts


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gpu.json: no such calibration file"):
        load_calibration(tmp_path)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "gpu.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"gpu.json: not JSON"):
        load_calibration(broken)
    assert (calibration_directory() / "gpu.json").is_file()
