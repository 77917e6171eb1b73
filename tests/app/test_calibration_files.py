from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from estimator.app.calibration_files import BASES, recalibrate_from
from estimator.app.thinning import thinned
from estimator.app.trust import ALIASES
from estimator.calibrate.case import interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.catalog.calibration import PARTS, load_calibration
from estimator.catalog.store import bundled_root
from estimator.cli.main import program
from estimator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

NETWORKS = ("lenet5", "mlp50", "mlp2048", "lenet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write some steps of the shipped CPU table."""
    path = bundled_root() / "measured" / "cpu_zen4_2vcpu.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    few = [line for line in lines[1:] if line.split(",")[5] in NETWORKS or line.split(",")[0] in NETWORKS]
    small = tmp_path / "cpu_zen4_2vcpu.csv"
    small.write_text("".join([lines[0], *(few or lines[1:31])[:30]]))
    return small


def test_the_same_tables_give_the_same_bytes(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "made"
    done = CliRunner().invoke(program(), ["calibrate", "--from", str(table), "--out", str(out)])
    assert done.exit_code == 0, done.stderr
    again = recalibrate_from([table])
    assert again.rows > 0
    assert {name: (out / name).read_text() for name in again.texts} == again.texts
    assert set(again.texts) == {f"{part}.json" for part in PARTS}
    assert (out / BASES).read_text().splitlines()[1].startswith("zen4-cloud-slice-2vcpu,")
    assert load_calibration(out).devices["zen4-cloud-slice-2vcpu"].rows == again.rows


def test_a_large_source_is_thinned_evenly_and_a_small_one_is_not() -> None:
    measured = bundled_root() / "measured"
    aliases = read_alias_tables(bundled_root() / ALIASES)
    small = interpret_all(read_measurements(measured / "neusight_transformers_fp32.csv.gz"), aliases)[0]
    assert thinned(small) == list(small)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no"):
        recalibrate_from([tmp_path / "none.csv"])
    with pytest.raises(InputError, match="no measurement table"):
        recalibrate_from([tmp_path])
    done = CliRunner().invoke(program(), ["calibrate", "--from", str(tmp_path)])
    assert done.exit_code == 2
    assert "--out" in done.stderr
