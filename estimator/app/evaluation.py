"""Puts predicted and measured rows together into the result of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.scoring import Times, rank_devices, score, score_groups
from estimator.calibrate.case import reasons
from estimator.results.evaluation import Covered, Detail, Evaluation, Gap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from estimator.calibrate.case import Case, Uncovered
    from estimator.results.evaluation import Ranking, Scores

    Floats = NDArray[np.float64]


GROUPS = (
    "device",
    "source_id",
    "precision",
    "mode",
    "family",
    "trust",
    "framework",
    "model",
    "tier",
    "devices",
)
CONSTANT = "one utilisation"
DEFAULT_GROUPS = ("device", "source_id", "precision", "mode", "family", "trust")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted case: seconds of the case's whole span, and the canonical names it was resolved to.

    ``measured_s`` is what the row measured, worked out where the row states a rate of FLOPs only;
    ``ideal_s`` what its FLOPs take at the devices' peak rate.
    """

    low_s: float
    expected_s: float
    high_s: float
    measured_s: float
    network: str
    family: str
    device: str
    architecture: str = ""
    tier: str = ""
    ideal_s: float | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to leave out, how to group, whether to list rows.

    ``exclude`` holds ``name=value`` conditions on row columns, ``flagged`` includes rows that their
    collector flagged, ``leave_out`` refits without the group it scores.
    """

    group_by: tuple[str, ...] = DEFAULT_GROUPS
    exclude: tuple[str, ...] = ()
    flagged: bool = False
    details: bool = False
    leave_out: str | None = None


def evaluation_of(
    data: tuple[str, ...],
    options: Options,
    done: Sequence[tuple[Case, Prediction]],
    gaps: Sequence[Uncovered],
    *,
    counts: tuple[int, int, int],
) -> Evaluation:
    """Return the result: ``done`` rows scored, ``gaps`` summed up; ``counts``: read, excluded, flagged."""
    times = _times(done)
    rows, excluded, flagged = counts
    return Evaluation(
        data=data,
        left_out=options.leave_out,
        rows=rows,
        excluded=excluded,
        flagged=flagged,
        covered=len(done),
        single_device=_covered(done, gaps, several=False),
        multi_device=_covered(done, gaps, several=True),
        uncovered=tuple(Gap(reason=why, count=n, example=at) for why, n, at in reasons(gaps)),
        overall=score(times),
        baselines=_baselines(done),
        groups={by: score_groups(times, [_key(by, *pair) for pair in done]) for by in options.group_by},
        ranking=_ranking(done),
        details=tuple(_detail(*pair) for pair in done) if options.details else (),
    )


def _times(done: Sequence[tuple[Case, Prediction]]) -> Times:
    def column(name: str) -> Floats:
        return np.array([getattr(each, name) for _, each in done], dtype=np.float64)

    return Times(
        low=column("low_s"),
        expected=column("expected_s"),
        high=column("high_s"),
        measured=column("measured_s"),
    )


def _covered(done: Sequence[tuple[Case, Prediction]], gaps: Sequence[Uncovered], *, several: bool) -> Covered:
    """Count covered and all usable rows on one device, or on several."""
    covered = sum((case.count > 1) == several for case, _ in done)
    missed = sum(((each.row.devices or 1) > 1) == several for each in gaps)
    return Covered(covered=covered, rows=covered + missed)


def _baselines(done: Sequence[tuple[Case, Prediction]]) -> dict[str, Scores]:
    """Score other predictors on the rows that they have, without a range.

    One utilisation for all rows is the median of the shares of peak that these rows reached: a rule of
    thumb that has even seen the answers.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for case, prediction in done:
        for name, seconds in case.row.baselines:
            found.setdefault(name, []).append((seconds, prediction.measured_s))
    ideal = [(each.ideal_s, each.measured_s) for _, each in done if each.ideal_s]
    if ideal:
        utilisation = float(np.median([peak_s / measured for peak_s, measured in ideal]))
        found[CONSTANT] = [(peak_s / utilisation, measured) for peak_s, measured in ideal]
    scored = {}
    for name, pairs in found.items():
        predicted, measured = np.array(pairs, dtype=np.float64).T
        scored[name] = score(Times(low=predicted, expected=predicted, high=predicted, measured=measured))
    return {name: scores for name, scores in scored.items() if scores}


def _key(by: str, case: Case, prediction: Prediction) -> str:
    """Return the group of a row."""
    if by in ("device", "family", "tier", "architecture"):
        return str(getattr(prediction, by))
    if by == "precision":
        return case.precision
    if by == "trust":
        return case.trust or "not stated"
    if by == "framework":
        return case.software.framework
    return str(getattr(case.row, by))


def _ranking(done: Sequence[tuple[Case, Prediction]]) -> Ranking:
    """Order of single devices for one network in one source, precision and mode, by seconds a sample."""
    alone = [(case, each) for case, each in done if case.count == 1 and case.message_bytes is None]
    samples = np.array([case.steps * case.step_samples for case, _ in alone], dtype=np.float64)
    return rank_devices(
        expected=np.array([each.expected_s for _, each in alone], dtype=np.float64) / samples,
        measured=np.array([each.measured_s for _, each in alone], dtype=np.float64) / samples,
        groups=[
            (c.row.source_id, c.network, c.precision, c.row.mode, c.software.framework) for c, _ in alone
        ],
        devices=[each.device for _, each in alone],
    )


def _detail(case: Case, prediction: Prediction) -> Detail:
    row = case.row
    return Detail(
        place=f"{row.at.file}:{row.at.line}",
        row=row.row,
        source_id=row.source_id,
        model=row.model,
        network=prediction.network,
        family=prediction.family,
        device=prediction.device,
        label=row.device,
        devices=case.count,
        hosts=case.nodes,
        batch=case.step_samples,
        precision=case.precision,
        framework=(
            f"{case.software.framework} {case.software.era} {case.software.mode} {case.software.layout}"
        ),
        mode=row.mode,
        trust=case.trust,
        tier=prediction.tier,
        steps=case.steps,
        measured_s=prediction.measured_s,
        predicted_s=prediction.expected_s,
        low_s=prediction.low_s,
        high_s=prediction.high_s,
        ratio=prediction.expected_s / prediction.measured_s,
        assumptions=(*case.assumptions, *prediction.assumptions),
        baselines_s=dict(row.baselines),
    )
