"""The screen of ``estimator calibrate --here``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Facts, Paragraph
from estimator.report.phrases import short_name
from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.calibration import CalibrationResult


def calibration_screen(result: CalibrationResult) -> Screen:
    """Return how near predictions came, what was measured, and where it is kept."""
    name = short_name(result.device.name)
    return (
        Answer(
            f"{name} is calibrated: median error {_percent(result.median_error_before)} before, "
            f"{_percent(result.median_error_left_out)} for networks it has not seen"
        ),
        Paragraph(f"{_percent(result.median_error_after)} for the {result.measured} steps it has seen"),
        Facts(
            title="",
            pairs=(
                ("networks", ", ".join(result.networks)),
                ("took", format_seconds(result.took_s)),
                ("kept in", result.saved_as),
                ("machine", ", ".join(f"{key} {value}" for key, value in result.fingerprint.items())),
            ),
        ),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
        Paragraph("next: estimator measure resnet18 --batch 8", "next"),
    )


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.0f} %"
