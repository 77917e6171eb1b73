"""Use case: predict the rows of measurement tables and say how far off the predictions are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from estimator.app.evaluation import GROUPS, Options, Prediction, evaluation_of
from estimator.calibrate.case import Uncovered, interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.rows import COLUMNS
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from estimator.calibrate.case import Case
    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow
    from estimator.results.evaluation import Evaluation

LEAVE_OUT = ("device", "source_id", "family", "architecture", "framework")
_MOST_FOLDS = 8  # calibrations a leave-one-out makes: each fold's groups are unseen by its own


class Predictor(Protocol):
    """What evaluation needs: a prediction for each case, or the reason why there is none."""

    def __call__(self, cases: Sequence[Case]) -> Sequence[Prediction | str]:
        """Predict the cases, in their order."""


class Refit(Protocol):
    """Makes a predictor whose calibration has not seen the cases of some groups."""

    def __call__(self, by: str, keys: frozenset[str]) -> Predictor:
        """Return the predictor without the groups ``keys`` of ``by``."""


def evaluate(
    paths: Sequence[Path],
    *,
    tables: AliasTables,
    predict: Predictor,
    refit: Refit | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Score predictions against the rows of ``paths``.

    Raises InputError for a table that cannot be read, an unknown group or condition, or a leave-out without
    a way to refit.
    """
    lines = [row for path in paths for row in read_measurements(path)]
    data = tuple(str(path) for path in paths)
    return evaluate_rows(lines, data=data, tables=tables, predict=predict, refit=refit, options=options)


def evaluate_rows(
    lines: Sequence[MeasuredRow],
    *,
    data: tuple[str, ...],
    tables: AliasTables,
    predict: Predictor,
    refit: Refit | None = None,
    options: Options | None = None,
) -> Evaluation:
    """Score predictions against rows that were read; ``data`` says from where."""
    chosen = options or Options()
    _check(chosen, refit)
    keep = _condition(chosen.exclude)
    kept = [row for row in lines if keep(row)]
    cases, uncovered = interpret_all(kept, tables)
    wanted = [case for case in cases if case.usable or chosen.flagged]
    answers = _predict(wanted, predict, refit, chosen.leave_out)
    done = [(case, each) for case, each in zip(wanted, answers, strict=True) if isinstance(each, Prediction)]
    missed = [
        Uncovered(row=case.row, reason=each)
        for case, each in zip(wanted, answers, strict=True)
        if isinstance(each, str)
    ]
    gaps = [*uncovered, *missed]
    return evaluation_of(
        data,
        chosen,
        done,
        gaps,
        counts=(len(lines), len(lines) - len(kept), len(cases) - len(wanted)),
    )


def _check(options: Options, refit: Refit | None) -> None:
    for name in options.group_by:
        if name not in GROUPS:
            raise InputError(
                f"cannot group by {name!r}",
                hint=suggestion(name, GROUPS) or f"groups are {', '.join(GROUPS)}",
            )
    if options.leave_out and (options.leave_out not in LEAVE_OUT or refit is None):
        raise InputError(
            f"cannot leave out one {options.leave_out!r}", hint=f"possible are {', '.join(LEAVE_OUT)}"
        )


def _condition(exclude: Sequence[str]) -> Callable[[MeasuredRow], bool]:
    """Read ``source_id=lamikr`` or ``device=K80`` (the text occurs in the column) as a filter on rows."""
    pairs: list[tuple[str, str]] = []
    for text in exclude:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise InputError(
                f"cannot read {text!r} as a condition", hint="write COLUMN=TEXT, say source_id=lamikr"
            )
        if name not in COLUMNS:
            raise InputError(f"no column {name!r}", hint=suggestion(name, COLUMNS))
        pairs.append(("devices" if name == "num_devices" else name, value.lower()))
    return lambda row: not any(value in str(getattr(row, name)).lower() for name, value in pairs)


def _predict(
    cases: Sequence[Case], predict: Predictor, refit: Refit | None, leave_out: str | None
) -> list[Prediction | str]:
    """Predict all cases; with ``leave_out`` each fold of groups by a predictor that has not seen it."""
    answers = list(predict(cases))
    if not leave_out or refit is None:
        return answers
    groups: dict[str, list[int]] = {}
    for index, (case, answer) in enumerate(zip(cases, answers, strict=True)):
        if isinstance(answer, Prediction):
            groups.setdefault(_group(leave_out, case, answer), []).append(index)
    for fold in _folds(groups):
        blind = refit(leave_out, frozenset(fold))
        members = [index for key in fold for index in groups[key]]
        for index, answer in zip(members, blind([cases[i] for i in members]), strict=True):
            answers[index] = answer
    return answers


def _group(by: str, case: Case, prediction: Prediction) -> str:
    if by == "source_id":
        return case.source_group
    return case.software.framework if by == "framework" else str(getattr(prediction, by))


def _folds(groups: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """Spread groups over folds that are left out together: by themselves while there are few.

    The largest groups come first, each to the fold with the fewest rows.
    """
    folds: list[list[str]] = [[] for _ in range(min(_MOST_FOLDS, len(groups)))]
    rows = [0] * len(folds)
    for key in sorted(groups, key=lambda key: (-len(groups[key]), key)):
        smallest = rows.index(min(rows))
        folds[smallest].append(key)
        rows[smallest] += len(groups[key])
    return folds
