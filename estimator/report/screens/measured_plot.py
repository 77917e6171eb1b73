"""The screen of ``estimator plot measured``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Drawing
from estimator.report.plots.measured import measured_figure
from estimator.report.screens.measurement import measurement_screen

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.measurement import MeasurementResult


def measured_screen(result: MeasurementResult) -> Screen:
    """Return predicted against measured layers above the screen of the measurement."""
    answer, *rest = measurement_screen(result)
    return (answer, Drawing(measured_figure(result)), *rest)
