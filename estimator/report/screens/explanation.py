"""The screen of ``estimator explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.commands import network_of
from estimator.report.phrases import named
from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.explanation import ExplanationResult

_UNITS = {"step": "a step", "epoch": "an epoch", "run": "the run", "sample": "a sample"}
_MUCH = 1.5


def explanation_screen(result: ExplanationResult) -> Screen:
    """Return whether the time is normal, the expected range, and causes with a command for each."""
    expected = result.expected_s
    blocks: list[Block] = [
        Answer(_answer(result)),
        Paragraph(
            f"expected {format_seconds(expected.expected)} {_UNITS[result.unit]}, "
            f"{format_seconds(expected.low)} to {format_seconds(expected.high)} in most cases "
            f"(basis: {expected.basis})"
        ),
    ]
    if result.causes:
        blocks.append(_causes(result))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    network = network_of(result.inputs)
    following = result.causes[0].check if result.causes else f"estimator measure {network}"
    blocks.append(Paragraph(f"next: {following}", "next"))
    return tuple(blocks)


def _answer(result: ExplanationResult) -> str:
    measured = f"{format_seconds(result.measured_s)} {_UNITS[result.unit]} on {named(result.device)}"
    if result.inside:
        return f"{measured} is normal: {_times(result.ratio)} the expected time"
    if result.ratio > 1:
        much = "much " if result.ratio > _MUCH else ""
        return f"{measured} is {much}slower than normal: {_times(result.ratio)} the expected time"
    return f"{measured} is faster than expected: {_times(result.ratio)} the expected time"


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x"


def _causes(result: ExplanationResult) -> Table:
    return Table(
        name="causes",
        title="what could explain it, the best fit first",
        columns=(
            Column("cause", "left"),
            Column("time"),
            Column("explains"),
            Column("arithmetic", "left", fold=True),
            Column("check", "left", fold=True),
        ),
        rows=tuple(
            (
                cause.name,
                _times(cause.factor),
                f"{100 * cause.explains:.0f} %",
                cause.arithmetic,
                cause.check,
            )
            for cause in result.causes
        ),
    )
