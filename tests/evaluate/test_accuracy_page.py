"""The boards and the page made of them, with a predictor that is off by known factors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from estimator.app.accuracy import accuracy
from estimator.app.boards import BOARDS
from estimator.app.evaluation import Prediction
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.rows import read_rows
from estimator.report.accuracy import accuracy_page
from estimator.report.scatter import scatter_svg
from estimator.results.accuracy import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.evaluate import Predictor
    from estimator.calibrate.case import Case
    from estimator.results.accuracy import AccuracyResult

ROOT = Path(__file__).parents[2]


def off_by(factor: float) -> Predictor:
    def predict(cases: Sequence[Case]) -> list[Prediction | str]:
        return [_answer(case, factor) for case in cases]

    return predict


def _answer(case: Case, factor: float) -> Prediction | str:
    if case.measured_s is None:
        return "no such network"
    expected = case.measured_s * factor * (1.1 if case.count > 1 else 1.0)
    return Prediction(
        low_s=expected / 1.3,
        expected_s=expected,
        high_s=expected * 1.3,
        measured_s=case.measured_s,
        network=case.network.name,
        family=case.network.name.partition("_")[0],
        device=case.row.device,
        architecture="arch",
        tier="known architecture",
        ideal_s=case.measured_s / 2,
    )


@pytest.fixture(scope="module")
def result() -> AccuracyResult:
    rows = list(read_rows(ROOT / "tests" / "golden" / "evaluate" / "rows.csv"))
    one = next(row for row in rows if row.source_id == "lambda_tf")
    rows.append(replace(one, devices=4, value=4 * one.value))
    tables = read_alias_tables(ROOT / "profiles" / "aliases")

    def refit(by: str, keys: frozenset[str]) -> Predictor:
        assert by
        assert keys
        return off_by(1.2)

    return accuracy(rows, tables=tables, predict=off_by(1.0), refit=refit)


def test_every_board_is_scored_by_what_it_leaves_out(result: AccuracyResult) -> None:
    parts = {part.what: part for part in result.boards}
    transformers = parts["transformers fp32, all GPUs"]
    assert transformers.scores is None or transformers.scores.n == 1
    llm = parts["language models, layout stated"]
    assert llm.scores is not None
    assert llm.met is False
    assert all(part.scores is None or part.scores.median_ape >= 0.09 for part in result.boards)
    assert len(result.boards) == len(BOARDS) + 2


def test_scaling_is_judged_with_the_single_device_given(result: AccuracyResult) -> None:
    part = next(part for part in result.boards if part.board == "F" and part.scores)
    assert part.scores is not None
    assert part.scores.n == 1
    assert part.scores.mape == pytest.approx(0.1)
    assert part.met is False


def test_the_page_shows_boards_ranges_and_gaps(result: AccuracyResult) -> None:
    page = accuracy_page(result, "plot.svg")
    assert page.startswith("# How accurate the predictions are")
    for words in ("## Boards", "## Honesty", "## Not covered", "(plot.svg)"):
        assert words in page
    assert "no such network" in page
    for line in page.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_the_drawing_is_well_formed_and_has_a_dot_a_row() -> None:
    points = [Point(measured_s=10.0**power, predicted_s=2 * 10.0**power, board="x") for power in range(-4, 2)]
    root = ET.fromstring(scatter_svg(points, "title"))  # noqa: S314 - our own text
    dots = [each for each in root.iter() if each.tag.endswith("circle") and each.get("r") == "1.6"]
    assert len(dots) == 6
    assert all(0 < float(dot.get("cx", "0")) < 672 for dot in dots)
