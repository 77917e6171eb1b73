"""Writes the accuracy page: every board with what was to be reached, ranges, ranks, residuals and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.accuracy_memory import memory_section
from estimator.report.tables import percent, table

if TYPE_CHECKING:
    from estimator.results.accuracy import AccuracyResult, BoardPart, Coverage, Residual
    from estimator.results.evaluation import Scores

_INTRODUCTION = (
    "Made by `make accuracy` from the shipped measurements; nothing here is written by hand. Each figure is "
    "over rows whose device, source, family, architecture or framework (column *unseen*) the calibration had "
    "not seen. Errors are predicted / measured less 1, without the sign."
)
_SAMPLE = " This page is of a sample: at most {networks} networks of each source, precision, layout and mode."
_MOST_DEVICES = 60
_MOST_GAPS = 60
_LOWEST, _HIGHEST = 0.75, 0.85
_FEWEST_FOR_A_VERDICT = 20


def accuracy_page(result: AccuracyResult, plot: str, networks: int | None = None) -> str:
    """Return the page as Markdown; ``plot`` is the file name of the drawing beside it.

    ``networks`` is how many of each stratum were scored, None for all.
    """
    sample = "" if networks is None else _SAMPLE.format(networks=networks)
    covered = f"{result.covered} of {result.rows}"
    parts = [
        "# How accurate the predictions are",
        _INTRODUCTION + sample,
        f"![predicted against measured]({plot})",
        "## Boards",
        *table(
            ("board", "rows measured", "unseen", "n", "median %", "mean %", "bias ln", "to reach", "met"),
            (_board(part) for part in result.boards),
        ),
        "### The same rows by other predictors",
        *table(
            ("board", "rows measured", "predictor", "n", "median %", "mean %"),
            (row for part in result.boards for row in _others(part)),
        ),
        "## Choosing: order of devices for one network",
        *table(
            ("unseen", "networks", "tau, pairs > 10 % apart", "tau, all pairs", "fastest right"),
            (
                (
                    unseen.removesuffix("_id"),
                    str(rank.groups),
                    *(_figure(x) for x in (rank.kendall_tau_apart, rank.kendall_tau, rank.best_right)),
                )
                for unseen, rank in result.ranking
            ),
        ),
        "## Honesty: the 80 % range",
        *table(("what the range rests on", "n", "held", "75 to 85 %"), map(_range, result.coverage)),
        *(memory_section(result.memory) if result.memory else ()),
        "## By device, the device unseen",
        *table(
            ("device", "n", "median %", "mean %", "bias ln", "in range"),
            (_device(name, scores) for name, scores in result.devices[:_MOST_DEVICES]),
        ),
        "## Largest residuals",
        "Groups off by more than 30 %, those with most rows first.",
        *table(
            ("source", "network", "device", "precision", "n", "ln ratio"), map(_residual, result.residuals)
        ),
        "## Not covered",
        f"{covered} rows were compared. The rest, and why:",
        *table(("n", "why"), ((str(gap.count), gap.reason) for gap in result.uncovered[:_MOST_GAPS])),
    ]
    return "\n\n".join(parts) + "\n"


def _figure(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _board(part: BoardPart) -> tuple[str, ...]:
    head = (part.board, part.what, part.unseen)
    aim = " / ".join("·" if x is None else f"{100 * x:.0f}" for x in (part.target_median, part.target_mean))
    if part.scores is None:
        return (*head, "0", "—", "—", "—", aim, "no rows")
    scores = part.scores
    verdict = {True: "yes", False: "no", None: "—"}[part.met]
    errors = (percent(scores.median_ape), percent(scores.mape), f"{scores.median_log_ratio:+.2f}")
    return (*head, str(scores.n), *errors, aim, verdict)


def _others(part: BoardPart) -> list[tuple[str, ...]]:
    head = (part.board, part.what)
    rows = [*part.others]
    if rows and part.scores:
        rows = [("this one", part.scores), *rows]
    return [
        (*head, name, str(scores.n), percent(scores.median_ape), percent(scores.mape))
        for name, scores in rows
    ]


def _range(coverage: Coverage) -> tuple[str, ...]:
    few = coverage.rows < _FEWEST_FOR_A_VERDICT
    verdict = "few rows" if few else "yes" if _LOWEST <= coverage.covered <= _HIGHEST else "no"
    return (coverage.tier, str(coverage.rows), f"{100 * coverage.covered:.0f} %", verdict)


def _device(name: str, scores: Scores) -> tuple[str, ...]:
    return (
        name,
        str(scores.n),
        percent(scores.median_ape),
        percent(scores.mape),
        f"{scores.median_log_ratio:+.2f}",
        f"{100 * scores.coverage_80:.0f} %",
    )


def _residual(each: Residual) -> tuple[str, ...]:
    return (
        each.source_id, each.network, each.device, each.precision, str(each.rows),
        f"{each.median_log_ratio:+.2f}",
    )  # fmt: skip
