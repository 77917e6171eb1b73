"""The screen of ``estimator evaluate``: how far off, on what, and what could not be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.report.blocks import Block, Screen
    from estimator.results.evaluation import Covered, Evaluation, Ranking, Scores

_MOST_KEYS = 25
_MOST_GAPS = 20
_SCORE_COLUMNS = (
    Column("rows"), Column("median %"), Column("mean %"), Column("P90 %"), Column("≤10 %"), Column("≤25 %"),
    Column("≤50 %"), Column("≤2x"), Column("bias ln"), Column("in range"),
)  # fmt: skip


def evaluation_screen(result: Evaluation) -> Screen:
    """Compose the screen: the answer, errors per group, order of devices, gaps, and rows if asked for."""
    blocks: list[Block] = [Answer(_answer(result)), _coverage(result)]
    if result.overall:
        blocks.append(_overall(result.overall, result.baselines))
    blocks += [_table(by, by.replace("_", " "), keys) for by, keys in result.groups.items() if keys]
    if result.ranking.groups:
        blocks.append(_order(result.ranking))
    if result.uncovered:
        blocks.append(_gaps(result))
    if result.details:
        blocks.append(_details(result))
    else:
        blocks.append(Paragraph("estimator evaluate … --details shows every row", kind="next"))
    return tuple(blocks)


def _answer(result: Evaluation) -> str:
    if result.overall is None:
        return f"none of {result.rows} rows could be compared with a prediction"
    scores = result.overall
    out = f", each {result.left_out.replace('_id', '')} unseen" if result.left_out else ""
    return (
        f"{100 * scores.median_ape:.1f} % median error, {100 * scores.mape:.1f} % mean, "
        f"over {scores.n} measured rows{out}"
    )


def _coverage(result: Evaluation) -> Facts:
    def share(part: Covered) -> str:
        rate = f" ({100 * part.covered / part.rows:.0f} %)" if part.rows else ""
        return f"{part.covered} of {part.rows}{rate}"

    return Facts(
        title="compared",
        pairs=(
            ("one device", share(result.single_device)),
            ("several devices", share(result.multi_device)),
            ("left out: flagged by their collector", str(result.flagged)),
            ("left out on request", str(result.excluded)),
        ),
    )


def _overall(predicted: Scores, baselines: Mapping[str, Scores]) -> Table:
    """Return the table of all rows; other predictors state no range that could hold."""
    table = _table("overall", "all", {"predicted": predicted, **baselines})
    own, *others = table.rows
    return replace(table, rows=(own, *((*cells[:-1], "—") for cells in others)))


def _table(name: str, heading: str, keys: Mapping[str, Scores]) -> Table:
    shown = list(keys.items())[:_MOST_KEYS]
    more = len(keys) - len(shown)
    return Table(
        name=name,
        title=f"by {heading}" + (f" (the largest {_MOST_KEYS} of {len(keys)})" if more > 0 else ""),
        columns=(Column(heading, "left"), *_SCORE_COLUMNS),
        rows=tuple((key, *_cells(scores)) for key, scores in shown),
    )


def _cells(scores: Scores) -> tuple[str, ...]:
    shares = (
        scores.within_10, scores.within_25, scores.within_50, scores.within_2x,
    )  # fmt: skip
    return (
        str(scores.n),
        *(f"{100 * error:.1f}" for error in (scores.median_ape, scores.mape, scores.p90_ape)),
        *(f"{100 * share:.0f}" for share in shares),
        f"{scores.median_log_ratio:+.2f}",
        f"{100 * scores.coverage_80:.0f} %",
    )


def _order(ranking: Ranking) -> Facts:
    def figure(value: float | None) -> str:
        return "—" if value is None else f"{value:.2f}"

    return Facts(
        title=f"order of devices, {ranking.groups} networks on at least four devices",
        pairs=(
            ("Kendall's tau, pairs more than 10 % apart", figure(ranking.kendall_tau_apart)),
            ("Kendall's tau, all pairs", figure(ranking.kendall_tau)),
            ("fastest device right", figure(ranking.best_right)),
        ),
    )


def _gaps(result: Evaluation) -> Table:
    shown = result.uncovered[:_MOST_GAPS]
    rest = len(result.uncovered) - len(shown)
    return Table(
        name="uncovered",
        title="not compared" + (f" ({rest} more reasons in the JSON)" if rest else ""),
        columns=(Column("rows"), Column("why", "left"), Column("first at", "left")),
        rows=tuple((str(gap.count), gap.reason, gap.example) for gap in shown),
    )


def _details(result: Evaluation) -> Table:
    return Table(
        name="rows",
        title="predicted beside measured",
        columns=(
            Column("row", "left"), Column("network", "left"), Column("device", "left"), Column("devices"),
            Column("batch"), Column("precision", "left"), Column("mode", "left"), Column("measured"),
            Column("predicted"), Column("range"), Column("ratio"),
        ),
        rows=tuple(
            (
                f"{each.source_id} {each.row}", each.network, each.device, str(each.devices),
                f"{each.batch:g}", each.precision, each.mode, format_seconds(each.measured_s),
                format_seconds(each.predicted_s),
                f"{format_seconds(each.low_s)} – {format_seconds(each.high_s)}",  # noqa: RUF001
                f"{each.ratio:.2f}",
            )
            for each in result.details
        ),
    )  # fmt: skip
