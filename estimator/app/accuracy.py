"""Use case: score the shipped predictor on every board, with what the board wants unseen left out."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.boards import BOARDS, is_cpu, is_llm, is_vision, scaling_key
from estimator.app.evaluate import evaluate_rows
from estimator.app.evaluation import Options
from estimator.app.scoring import Times, score, score_groups
from estimator.results.accuracy import AccuracyResult, BoardPart, Coverage, Point, Residual

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.app.boards import Board
    from estimator.app.evaluate import Predictor, Refit
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow
    from estimator.results.evaluation import Detail, Evaluation, Scores

_FEWEST_ROWS = 5
_MOST_RESIDUALS = 40
_FAR_OFF = math.log(1.3)


def accuracy(
    rows: Sequence[MeasuredRow], *, tables: AliasTables, predict: Predictor, refit: Refit
) -> AccuracyResult:
    """Score all boards on ``rows``; each way of leaving out calibrates up to eight times."""

    def run(unseen: str, keep: Callable[[MeasuredRow], bool]) -> Evaluation:
        chosen = [row for row in rows if keep(row)]
        options = Options(details=True, leave_out=unseen)
        return evaluate_rows(chosen, data=(), tables=tables, predict=predict, refit=refit, options=options)

    runs = {
        "device": run("device", lambda row: row.mode != "forward" or row.source_id == "neusight"),
        "source_id": run("source_id", lambda row: row.mode != "forward"),
        "family": run("family", lambda row: row.source_id == "timm_train"),
        "architecture": run("architecture", _is_single_training),
        "framework": run("framework", _is_single_training),
    }
    scored = runs["device"]
    parts = [_part(board, runs[board.unseen].details) for board in BOARDS]
    return AccuracyResult(
        boards=(*parts, *_scaling(scored.details)),
        ranking=tuple((unseen, runs[unseen].ranking) for unseen in ("device", "source_id")),
        coverage=tuple(
            _coverage(f"unseen {unseen.removesuffix('_id')}: {tier}", members)
            for unseen, result in runs.items()
            for tier, members in _by_tier(result.details).items()
        ),
        devices=tuple(score_groups(_times(scored.details), [d.device for d in scored.details]).items()),
        residuals=tuple(_residuals(scored.details)),
        uncovered=scored.uncovered,
        rows=scored.rows,
        covered=scored.covered,
        points=tuple(_points(scored.details)),
    )


def _is_single_training(row: MeasuredRow) -> bool:
    return row.devices == 1 and row.mode in ("train_step", "forward_backward")


def _part(board: Board, details: Sequence[Detail]) -> BoardPart:
    """Score one board, and other predictors on the same rows."""
    members = [row for row in details if board.keep(row)]
    names = sorted({name for row in members for name in row.baselines_s})
    others = [(name, _other(members, name)) for name in names]
    return BoardPart(
        board=board.board,
        what=board.what,
        unseen=board.unseen.removesuffix("_id"),
        target_median=board.target_median,
        target_mean=board.target_mean,
        scores=score(_times(members)),
        others=tuple((name, scores) for name, scores in others if scores),
    )


def _other(members: Sequence[Detail], name: str) -> Scores | None:
    pairs = [(row.baselines_s[name], row.measured_s) for row in members if name in row.baselines_s]
    predicted, measured = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    return score(Times(low=predicted, expected=predicted, high=predicted, measured=measured))


def _times(members: Sequence[Detail]) -> Times:
    def column(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([getattr(row, name) for row in members], dtype=np.float64)

    return Times(
        low=column("low_s"),
        expected=column("predicted_s"),
        high=column("high_s"),
        measured=column("measured_s"),
    )


def _scaling(details: Sequence[Detail]) -> list[BoardPart]:
    """Board F: the time on several devices, given the measured time on one of them."""
    curves: dict[tuple[str, ...], list[Detail]] = defaultdict(list)
    for row in details:
        if row.mode == "train_step":
            curves[scaling_key(row)].append(row)
    inside: list[tuple[float, float]] = []
    across: list[tuple[float, float]] = []
    for members in curves.values():
        single = [row for row in members if row.devices == 1]
        if not single:
            continue
        known = float(np.median([row.measured_s / row.predicted_s for row in single]))
        for row in members:
            if row.devices > 1:
                pair = (row.predicted_s * known, row.measured_s)
                (inside if row.hosts == 1 else across).append(pair)
    return [
        _scaling_part("several devices of one host, one device given", inside, 0.04, 0.08),
        _scaling_part("several hosts, one device given", across, 0.10, None),
    ]


def _scaling_part(
    what: str, pairs: Sequence[tuple[float, float]], median: float, mean: float | None
) -> BoardPart:
    predicted, measured = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    times = Times(low=predicted, expected=predicted, high=predicted, measured=measured)
    return BoardPart(
        board="F", what=what, unseen="device", target_median=median, target_mean=mean, scores=score(times)
    )


def _by_tier(details: Sequence[Detail]) -> dict[str, list[Detail]]:
    tiers: dict[str, list[Detail]] = defaultdict(list)
    for row in details:
        tiers[row.tier].append(row)
    return {tier: members for tier, members in sorted(tiers.items()) if len(members) >= _FEWEST_ROWS}


def _coverage(tier: str, members: Sequence[Detail]) -> Coverage:
    held = [row.low_s <= row.measured_s <= row.high_s for row in members]
    return Coverage(tier=tier, rows=len(members), covered=float(np.mean(held)))


def _residuals(details: Sequence[Detail]) -> list[Residual]:
    """Return the groups that are off by more than 30 %, those with most rows first."""
    groups: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for row in details:
        groups[row.source_id, row.network, row.device, row.precision].append(math.log(row.ratio))
    found = [
        Residual(
            source_id=source, network=network, device=device, precision=precision, rows=len(logs),
            median_log_ratio=float(np.median(logs)),
        )
        for (source, network, device, precision), logs in groups.items()
    ]  # fmt: skip
    far = [each for each in found if abs(each.median_log_ratio) > _FAR_OFF]
    return sorted(far, key=lambda each: -each.rows * abs(each.median_log_ratio))[:_MOST_RESIDUALS]


def _points(details: Sequence[Detail]) -> list[Point]:
    """Return seconds a step, predicted and measured, by kind of run."""

    def kind(row: Detail) -> str:
        if is_llm(row):
            return "language models"
        if is_cpu(row):
            return "CPU"
        return "vision, one GPU" if is_vision(row) else "other"

    return [
        Point(measured_s=row.measured_s / row.steps, predicted_s=row.predicted_s / row.steps, board=kind(row))
        for row in details
        if row.mode != "allreduce"
    ]
