"""The screens of ``estimator plot``: what the plot shows in a sentence, the plot, and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Drawing, Paragraph, Table
from estimator.report.commands import device_of, network_of
from estimator.report.phrases import NOTHING, between, named, percent
from estimator.report.plots.accuracy import accuracy_figure
from estimator.report.plots.bars import devices_figure, layers_figure
from estimator.report.plots.cost import cost_figure
from estimator.report.plots.roofline import roofline_figure
from estimator.report.plots.trends import batch_figure
from estimator.report.screens.evaluation import evaluation_screen
from estimator.report.screens.plan import plan_screen
from estimator.report.screens.sweep import sweep_screen
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.report.plots.figure import Figure
    from estimator.results.evaluation import Evaluation
    from estimator.results.plan import PlanResult
    from estimator.results.prediction import Prediction, PredictionResult
    from estimator.results.roofline import RooflineResult
    from estimator.results.sweep import SweepResult

ROWS_SHOWN = 20


def roofline_screen(result: RooflineResult, *, most: int | None = ROWS_SHOWN) -> Screen:
    """Return the roofline with its layers, those that take most time first."""
    figure = roofline_figure(result)
    table = roofline_table(result)
    following = f"predict {network_of(result.inputs)} --device {device_of(result.device)}"
    return (*_head(figure), *_cut(table, most), _next(following))


def layers_plot_screen(result: PredictionResult, *, most: int | None = ROWS_SHOWN) -> Screen:
    """Return where the step of the first prediction goes, layer by layer."""
    prediction = result.predictions[0]
    network = str(result.inputs.get("network", "the network"))
    figure = layers_figure(network, prediction)
    following = f"plot roofline {network_of(result.inputs)} --device {device_of(prediction.device)}"
    return (*_head(figure), *_cut(layer_times_table(prediction), most), _next(following))


def devices_plot_screen(result: PredictionResult) -> Screen:
    """Return the time of 1,000 samples by device, with ranges."""
    network = str(result.inputs.get("network", "the network"))
    table = Table(
        name="devices",
        columns=(Column("device", "left"), Column("1,000 samples"), Column("a step"), Column("range")),
        rows=tuple(
            (
                named(p.device),
                format_seconds(1000 / p.step.samples_per_s),
                format_seconds(p.step.time_s.expected),
                between(p.step.time_s),
            )
            for p in sorted(result.predictions, key=lambda p: -p.step.samples_per_s)
        ),
    )
    warnings = (Paragraph(f"warning: {text}", "warning") for text in result.warnings)
    figure = devices_figure(network, result.predictions)
    return (*_head(figure), table, *warnings, _next(f"compare {network_of(result.inputs)}"))


def batch_screen(result: SweepResult) -> Screen:
    """Return throughput by batch above the screen of the sweep."""
    answer, *rest = sweep_screen(result, most=None)
    return (answer, Drawing(batch_figure(result)), *rest)


def accuracy_screen(result: Evaluation) -> Screen:
    """Return predicted against measured above the screen of the evaluation, without its rows."""
    answer, *rest = (b for b in evaluation_screen(result) if not (isinstance(b, Table) and b.name == "rows"))
    drawing = [Drawing(accuracy_figure(result))] if result.details else []
    return (answer, *drawing, *rest)


def cost_screen(result: PlanResult) -> Screen:
    """Return time against cost above the screen of the plan."""
    answer, *rest = plan_screen(result)
    return (answer, Drawing(cost_figure(result)), *rest)


def roofline_table(result: RooflineResult) -> Table:
    """Return a row a layer, slowest first, with what it reaches of the ceiling over it."""
    peak, bandwidth = result.ceilings[0].flop_per_s, result.bandwidth_bytes_per_s
    points = sorted(result.points, key=lambda point: -point.time_s)
    return Table(
        name="layers",
        columns=(
            Column("layer", "left", fold=True), Column("FLOPs", optional=True),
            Column("bytes", optional=True), Column("FLOP/byte"), Column("FLOP/s"), Column("of roof"),
            Column("time"), Column("bound by", "left"),
        ),
        rows=tuple(
            (
                p.path,
                format_si(p.flops),
                format_bytes(p.bytes),
                f"{p.intensity_flop_per_byte:.1f}",
                format_si(p.attained_flop_per_s),
                percent(p.attained_flop_per_s, min(peak, p.intensity_flop_per_byte * bandwidth)),
                format_seconds(p.time_s),
                p.bound,
            )
            for p in points
        ),
    )  # fmt: skip


def layer_times_table(prediction: Prediction) -> Table:
    """Return a row a layer, slowest first."""
    total = prediction.step.time_s.expected
    return Table(
        name="layers",
        columns=(
            Column("layer", "left", fold=True), Column("forward"), Column("backward"), Column("of step"),
            Column("bound by", "left"),
        ),
        rows=tuple(
            (
                layer.path,
                format_seconds(layer.forward_s) if layer.forward_s else NOTHING,
                format_seconds(layer.backward_s) if layer.backward_s else NOTHING,
                percent(layer.forward_s + layer.backward_s, total),
                layer.bound,
            )
            for layer in sorted(prediction.layers, key=lambda x: -(x.forward_s + x.backward_s))
        ),
    )  # fmt: skip


def _head(figure: Figure) -> tuple[Block, ...]:
    first, _, rest = figure.summary.partition(". ")
    return (Answer(first.rstrip(".")), *([Paragraph(rest, "dim")] if rest else []), Drawing(figure))


def _cut(table: Table, most: int | None) -> tuple[Block, ...]:
    if not most or len(table.rows) <= most:
        return (table,)
    left = len(table.rows) - most
    short = Table(name=table.name, columns=table.columns, rows=table.rows[:most])
    return (short, Paragraph(f"the slowest {most}; {left:,} more with -f csv or -f json", "dim"))


def _next(command: str) -> Paragraph:
    return Paragraph(f"next: estimator {command}", "next")
