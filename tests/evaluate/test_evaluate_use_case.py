"""Evaluation as a whole, with a predictor that is off by a known factor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from estimator.app.evaluate import evaluate
from estimator.app.evaluation import Options, Prediction
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.evaluate import Predictor
    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.results.evaluation import Evaluation

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "golden" / "evaluate" / "rows.csv"


@pytest.fixture(scope="module")
def tables() -> AliasTables:
    return read_alias_tables(ROOT / "profiles" / "aliases")


def off_by(factor: float) -> Predictor:
    def predict(cases: Sequence[Case]) -> list[Prediction | str]:
        return [_answer(case, factor) for case in cases]

    return predict


def _answer(case: Case, factor: float) -> Prediction | str:
    if case.measured_s is None:
        return "no such network"
    expected = factor * case.measured_s
    return Prediction(
        low_s=expected / 1.5,
        expected_s=expected,
        high_s=expected * 1.5,
        measured_s=case.measured_s,
        network=case.network.name,
        family=case.network.name.partition("_")[0],
        device=case.row.device,
    )


def run(tables: AliasTables, **options: object) -> Evaluation:
    return evaluate([DATA], tables=tables, predict=off_by(1.2), options=Options(**options))  # type: ignore[arg-type]


def test_counts_what_is_covered_flagged_and_not_covered(tables: AliasTables) -> None:
    found = run(tables)
    assert (found.rows, found.excluded, found.flagged) == (24, 0, 3)
    assert found.covered + found.flagged + sum(gap.count for gap in found.uncovered) == found.rows
    assert {gap.reason for gap in found.uncovered} >= {"no such network", "precision not stated"}
    assert all("rows.csv:" in gap.example for gap in found.uncovered)
    assert found.single_device.rows + found.multi_device.rows == found.rows - found.flagged


def test_scores_a_known_error(tables: AliasTables) -> None:
    found = run(tables)
    assert found.overall is not None
    assert found.overall.n == found.covered
    assert found.overall.mape == pytest.approx(0.2)
    assert (found.overall.within_10, found.overall.within_25, found.overall.coverage_80) == (0, 1, 1)
    assert found.groups["precision"]["amp"].median_ape == pytest.approx(0.2)
    assert sum(each.n for each in found.groups["source_id"].values()) == found.covered
    assert (found.ranking.groups, found.ranking.kendall_tau) == (1, 1.0)


def test_scores_other_predictors_on_their_rows(tables: AliasTables) -> None:
    found = run(tables)
    assert found.baselines["neusight"].n == 1


def test_details_on_request(tables: AliasTables) -> None:
    assert run(tables).details == ()
    details = run(tables, details=True).details
    assert len(details) == run(tables).covered
    assert all(each.ratio == pytest.approx(1.2) for each in details)


def test_excludes_rows_and_includes_flagged_ones(tables: AliasTables) -> None:
    fewer = run(tables, exclude=("source_id=lambda_tf", "device=Titan"))
    assert fewer.excluded == 7
    assert "lambda_tf" not in fewer.groups["source_id"]
    assert run(tables, flagged=True).flagged == 0


def test_leaves_out_one_group_at_a_time(tables: AliasTables) -> None:
    asked: list[frozenset[str]] = []

    def refit(by: str, keys: frozenset[str]) -> Predictor:
        assert by == "source_id"
        asked.append(keys)
        return off_by(1.5)

    found = evaluate(
        [DATA], tables=tables, predict=off_by(1.0), refit=refit, options=Options(leave_out="source_id")
    )
    assert found.overall is not None
    assert found.overall.mape == pytest.approx(0.5)
    assert found.left_out == "source_id"
    assert len(asked) == 8
    assert sum(len(keys) for keys in asked) == len(frozenset.union(*asked)) == 13


def test_result_is_plain_data(tables: AliasTables) -> None:
    document = run(tables, details=True).to_mapping()
    assert document["schema"] == "estimator/evaluate/1"
    assert set(document) >= {"rows", "covered", "uncovered", "overall", "groups", "ranking", "details"}
    assert set(document["uncovered"][0]) == {"reason", "count", "example"}
    assert "coverage_80" in document["overall"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"group_by": ("devize",)}, "did you mean 'device'"),
        ({"exclude": ("lambda",)}, "cannot read 'lambda' as a condition"),
        ({"exclude": ("sauce_id=x",)}, "did you mean 'source_id'"),
        ({"leave_out": "family"}, "cannot leave out"),
    ],
)
def test_mistakes_in_the_request(tables: AliasTables, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        run(tables, **options)
    assert said in str(caught.value)
