"""The screen of ``estimator report``: the answer, then sections from the times to the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Drawing, Facts, Heading, Paragraph
from estimator.report.phrases import named, range_line, times
from estimator.report.plots.bars import devices_figure, layers_figure
from estimator.report.plots.roofline import MOST_POINTS, roofline_figure
from estimator.report.plots.trends import batch_figure
from estimator.report.screens import report_tables as tables
from estimator.report.screens.report_costs import costs, plan_answer
from estimator.report.screens.report_hardware import hardware_table, sources_table
from estimator.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.report.blocks import Block, Screen
    from estimator.results.prediction import Prediction, TimeSummary
    from estimator.results.report import NetworkReport, ReportResult

_MOST_SENTENCES = 8
_POINTS_IN_ALL = 600  # of rooflines, beside 50 each: the page of many large networks stays small
_INPUTS = (
    "batch", "precision", "optimizer", "accumulation", "epochs", "steps", "samples", "parameters",
    "network_file",
)  # fmt: skip


def report_screen(result: ReportResult) -> Screen:
    """Return the whole report; a section appears only where its data is there."""
    return (
        *_lead(result),
        *_times(result),
        *(costs(result.plan) if result.plan else ()),
        *_inputs(result),
        *_hardware(result),
        *(block for each in result.networks for block in _network(each, len(result.networks))),
        Heading("Memory"),
        tables.memory_table(result),
        *_trust(result),
        *_assumptions(result),
        *_reproduce(result),
    )


def fastest(report: NetworkReport) -> Prediction:
    """Return the prediction for the fastest device, of those in whose memory a step fits where any does."""
    return min(report.comparison.predictions, key=lambda p: (p.memory.fits is False, -p.step.samples_per_s))


def _lead(result: ReportResult) -> Iterator[Block]:
    if len(result.networks) == 1:
        yield Answer(_answer(result.networks[0]))
    else:
        yield Answer(
            "Fastest: " + ", ".join(f"{n.network} on {named(fastest(n).device)}" for n in result.networks)
        )
    for each in result.networks:
        best = fastest(each)
        time, span = _longest(best)
        fit = ". It does NOT fit in memory" if best.memory.fits is False else ""
        takes = f"{format_seconds(time.expected)} {span}, {range_line(time)}{fit}"
        yield Paragraph(f"{each.network} on {named(best.device)}: {takes}.")
    if result.plan is not None:
        yield Paragraph(f"Costs: {plan_answer(result.plan)}.")
    yield Paragraph(f"Made on {result.made_on} by estimator; every figure is a prediction.", "dim")
    yield from (Paragraph(f"warning: {text}", "warning") for text in result.warnings)


def _answer(each: NetworkReport) -> str:
    best = fastest(each)
    time, span = _longest(best)
    takes = f"{format_seconds(time.expected)} {span}"
    if len(each.comparison.predictions) == 1:
        return f"{each.network} on {named(best.device)}: {takes}"
    slowest = min(each.comparison.predictions, key=lambda p: p.step.samples_per_s)
    ratio = times(best.step.samples_per_s / slowest.step.samples_per_s)
    than = f", {ratio} as fast as on {named(slowest.device)}" if slowest is not best else ""
    return f"{each.network} trains fastest on {named(best.device)}: {takes}{than}"


def _longest(prediction: Prediction) -> tuple[TimeSummary, str]:
    """Return the longest span that is known: the run, an epoch or a step."""
    if prediction.total_range_s is not None:
        return prediction.total_range_s, "in all"
    if prediction.epoch_range_s is not None:
        return prediction.epoch_range_s, "an epoch"
    return prediction.step.time_s, "a step"


def _times(result: ReportResult) -> Iterator[Block]:
    yield Heading("Times")
    yield tables.times_table(result)
    for each in result.networks:
        if len(each.comparison.predictions) > 1:
            yield Drawing(devices_figure(each.network, each.comparison.predictions))
        yield from map(Paragraph, _explanation(each))


def _explanation(each: NetworkReport) -> list[str]:
    """Return why the order is as it is: all sentences, or of many those on the fastest devices."""
    sentences = each.comparison.explanation
    if len(sentences) <= _MOST_SENTENCES:
        return list(sentences)
    ordered = sorted(each.comparison.predictions, key=lambda p: -p.step.samples_per_s)
    names = [
        f"{p.device.devices}x {p.device.name}" if p.device.devices > 1 else p.device.name for p in ordered
    ]
    first = {s for name in names[:_MOST_SENTENCES] for s in sentences if s.startswith(f"{name} ")}
    return [s for s in sentences if s in first][:_MOST_SENTENCES]


def _inputs(result: ReportResult) -> Iterator[Block]:
    yield Heading("Inputs")
    for each in result.networks:
        given = each.comparison.inputs
        pairs = tuple(
            (name.replace("_", " "), _written(given[name])) for name in _INPUTS if given.get(name) is not None
        )
        yield Facts(title=each.network, pairs=tuple(pair for pair in pairs if pair[1]))


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {item}" for name, item in value.items())
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _hardware(result: ReportResult) -> Iterator[Block]:
    yield Heading("Hardware")
    yield hardware_table(result)
    yield sources_table(result)


def _network(each: NetworkReport, networks: int) -> Iterator[Block]:
    best = fastest(each)
    yield Heading(f"Where the time goes: {each.network}")
    yield tables.phases_table(each)
    yield Paragraph(f"The layers below are on {named(best.device)}.")
    yield Drawing(layers_figure(each.network, best))
    if each.roofline is not None:
        yield Drawing(roofline_figure(each.roofline, most=min(MOST_POINTS, 50 + _POINTS_IN_ALL // networks)))
    if each.batches is not None:
        yield Drawing(batch_figure(each.batches))
    yield from (Paragraph(f"not shown: {text}", "warning") for text in each.gaps)
    table, left = tables.layers_table(each, best, networks=networks)
    yield table
    if left:
        yield Paragraph(f"{left:,} quicker layers are left out; the JSON form has all.", "dim")


def _trust(result: ReportResult) -> Iterator[Block]:
    yield Heading("Ranges and how far to trust them")
    coverage = result.networks[0].comparison.predictions[0].step.time_s.coverage
    yield Paragraph(
        f"Each range is to hold the true time in {100 * coverage:.0f} % of cases. It is as wide as "
        "predictions of the same kind were off from measurements that their calibration had not seen:"
    )
    yield tables.accuracy_table(result)


def _assumptions(result: ReportResult) -> Iterator[Block]:
    yield Heading("Assumptions")
    yield tables.assumptions_table(result)


def _reproduce(result: ReportResult) -> Iterator[Block]:
    yield Heading("How to make this again")
    yield Paragraph(result.command, "next")
