"""What the figures say of results, and that no two series differ by colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.report.plots.accuracy import accuracy_figure
from estimator.report.plots.bars import devices_figure, layers_figure, shortened
from estimator.report.plots.cost import cost_figure
from estimator.report.plots.palette import DARK_TONES, TONES
from estimator.report.plots.roofline import roofline_figure
from estimator.report.plots.trends import batch_figure, scale_figure
from estimator.results.evaluation import Covered, Detail, Evaluation, Ranking
from estimator.results.sweep import ScalePoint, ScaleResult

if TYPE_CHECKING:
    from estimator.report.plots.figure import Figure
    from estimator.results.report import ReportResult


@pytest.fixture(scope="module")
def figures(small_report: ReportResult) -> list[Figure]:
    last = small_report.networks[1]
    assert small_report.plan is not None
    assert last.roofline is not None
    assert last.batches is not None
    return [
        roofline_figure(last.roofline),
        layers_figure(last.network, last.comparison.predictions[0]),
        devices_figure(last.network, last.comparison.predictions),
        batch_figure(last.batches),
        accuracy_figure(evaluation()),
        scale_figure(scaling()),
        cost_figure(small_report.plan),
    ]


def detail(measured_s: float, predicted_s: float, tier: str) -> Detail:
    return Detail(
        place="m.csv:2", row="1", source_id="s", model="resnet50", network="resnet50", family="resnet",
        device="t4", label="T4", devices=1, hosts=1, batch=32, precision="fp32", framework="pytorch",
        mode="training", trust="high", tier=tier, steps=10, measured_s=measured_s, predicted_s=predicted_s,
        low_s=predicted_s / 2, high_s=predicted_s * 2, ratio=predicted_s / measured_s,
    )  # fmt: skip


def evaluation() -> Evaluation:
    rows = (detail(1.0, 1.1, "calibrated device"), detail(20.0, 15.0, "known architecture"))
    covered = Covered(covered=2, rows=2)
    return Evaluation(
        data=("m.csv",), left_out=None, rows=2, excluded=0, flagged=0, covered=2, single_device=covered,
        multi_device=covered, uncovered=(), overall=None, baselines={}, groups={},
        ranking=Ranking(groups=0, kendall_tau=None, kendall_tau_apart=None, best_right=None), details=rows,
    )  # fmt: skip


def scaling() -> ScaleResult:
    def point(devices: int, speed_up: float) -> ScalePoint:
        return ScalePoint(
            **{
                name: None
                for name in ScalePoint.__dataclass_fields__
                if name not in ("kind", "link", "devices", "step_s", "speed_up", "efficiency")
            },  # type: ignore[arg-type]
            kind="weak", link="pcie3", devices=devices, step_s=0.1, speed_up=speed_up,
            efficiency=speed_up / devices,
        )  # fmt: skip

    return ScaleResult(
        inputs={"network": "resnet50"}, device="t4", gradient_bytes=1, points=(point(1, 1.0), point(4, 3.4)),
        coverage=0.8, basis="known architecture",
    )  # fmt: skip


def test_no_two_series_differ_by_colour_alone(figures: list[Figure]) -> None:
    for figure in figures:
        looks = [
            (s.kind, s.fill if s.kind == "bars" else "", s.dash if s.kind == "line" else "",
             s.marker if s.kind == "points" or s.with_markers else "")
            for s in figure.series
        ]  # fmt: skip
        assert len(set(looks)) == len(looks), figure.name


def test_every_figure_says_in_words_what_it_shows(figures: list[Figure]) -> None:
    for figure in figures:
        assert len(figure.summary) > 40
        assert figure.x.label
        assert figure.y.label


def test_layers_stand_below_the_roof_or_nearly(small_report: ReportResult) -> None:
    """Winograd and caches may lift a layer over a ceiling, never far."""
    roofline = small_report.networks[1].roofline
    assert roofline is not None
    peak = roofline.ceilings[0].flop_per_s
    for point in roofline.points:
        roof = min(peak, point.intensity_flop_per_byte * roofline.bandwidth_bytes_per_s)
        assert point.attained_flop_per_s < 3 * roof
        assert point.attained_flop_per_s * point.time_s == pytest.approx(point.flops)


def test_the_slope_meets_the_flat_at_the_ridge_point(figures: list[Figure]) -> None:
    ceiling = figures[0].series[0]
    low, ridge, flat = ceiling.marks
    assert flat.y == ridge.y
    assert ridge.y / ridge.x == pytest.approx(low.y / low.x)  # both are the bandwidth


def test_bars_of_a_layer_add_up(small_report: ReportResult, figures: list[Figure]) -> None:
    prediction = small_report.networks[1].comparison.predictions[0]
    slowest = max(layer.forward_s + layer.backward_s for layer in prediction.layers)
    backward = figures[1].series[1]
    assert backward.marks[0].x == pytest.approx(slowest)


def test_the_wall_and_the_knee_are_marked(figures: list[Figure]) -> None:
    labels = {mark.label for series in figures[3].series for mark in series.marks}
    assert "knee" in labels
    assert all(p.label in ("", "knee", "wall") for s in figures[3].series for p in s.marks)


def test_nothing_beats_the_pareto_front(figures: list[Figure]) -> None:
    cost = figures[-1]
    front = next(series for series in cost.series if series.name == "Pareto front")
    others = [mark for series in cost.series if series is not front for mark in series.marks]
    for ahead in front.marks:
        assert not [m for m in others if m.x < ahead.x * 0.999 and m.y < ahead.y * 0.999]
    times = [mark.x for mark in front.marks]
    assert times == sorted(times)
    assert [mark.y for mark in front.marks] == sorted((mark.y for mark in front.marks), reverse=True)


def test_the_recommended_candidate_has_its_name_beside_it(
    small_report: ReportResult, figures: list[Figure]
) -> None:
    assert small_report.plan is not None
    assert small_report.plan.recommendation is not None
    labels = {mark.label for series in figures[-1].series for mark in series.marks} - {""}
    assert labels == {small_report.plan.recommendation.system}


def test_long_names_stay_apart() -> None:
    names = [f"layers.{i}.layers.{j}.bottleneck.Residual.BatchNorm2d_3" for i in range(4) for j in range(6)]
    short = [shortened(name) for name in names]
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= 30


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(("tones", "ground"), [(TONES, "#f5f6f8"), (DARK_TONES, "#1d2229")])
def test_tones_have_contrast(tones: tuple[str, ...], ground: str) -> None:
    for tone in tones:
        low, high = sorted((luminance(tone), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, tone
