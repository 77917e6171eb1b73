"""Predicted against measured layers of a saved measurement."""

from __future__ import annotations

import dataclasses

import pytest

from estimator.errors import InputError
from estimator.report.plots.measured import measured_figure
from estimator.report.plots.terminal import draw_in_terminal
from estimator.results.loading import load_result
from estimator.results.measurement import MeasurementResult

TIMES = {
    "layers": [],
    "phases": {"forward_s": 0.01, "backward_s": 0.02, "optimizer_s": 0.001, "communication_s": None},
}
LAYERS = [
    {"path": "fc1", "forward_s": 0.004, "backward_s": 0.008},
    {"path": "fc2", "forward_s": 0.001, "backward_s": 0.0},
]
SAVED: dict[str, object] = {
    "schema": "estimator/measure/1",
    "tool_version": "0.1.0",
    "inputs": {"network": "mlp_mnist"},
    "device": {
        "name": "CPU", "id": "this-cpu", "kind": "cpu", "devices": 1, "detected": True, "lanes": 64,
        "peak_flop_per_s": 2e11, "bandwidth_bytes_per_s": None, "power_limit_w": None,
    },
    "predicted": {
        **TIMES,
        "layers": [
            {"path": "fc1", "forward_s": 0.003, "backward_s": 0.007},
            {"path": "fc2", "forward_s": 0.003, "backward_s": 0.0},
        ],
        "step_s": {"expected": 0.03, "low": 0.02, "high": 0.04, "basis": "known architecture"},
        "memory_bytes": 1000,
    },
    "measured": {
        **TIMES,
        "layers": LAYERS,
        "step_s": {"median": 0.036, "p10": 0.03, "p90": 0.05, "steps": 20},
        "memory_peak_bytes": None, "sum_of_layers_s": 0.03, "layers_gap": 0.1, "method": "pytorch",
        "warm_up_steps": 3, "interrupted": False, "processes": 1, "threads": 2, "software": {},
    },
    "error": None,
    "warnings": [],
}  # fmt: skip


@pytest.fixture
def saved() -> MeasurementResult:
    return load_result(MeasurementResult, SAVED, where="step.json")


def test_each_layer_stands_at_its_measured_and_predicted_time(saved: MeasurementResult) -> None:
    layers = measured_figure(saved).series[-2]
    assert [(mark.x, mark.y) for mark in layers.marks] == [(0.012, 0.01), (0.001, 0.003)]
    assert "fc2" in layers.marks[1].tip
    assert "(3.00x)" in layers.marks[1].tip


def test_the_summary_counts_what_is_within_a_factor_of_two(saved: MeasurementResult) -> None:
    assert measured_figure(saved).summary.startswith("2 layers, 1 of them predicted within a factor of two")


def test_it_is_drawn(saved: MeasurementResult) -> None:
    assert "the whole step" in draw_in_terminal(measured_figure(saved), width=80, colour=False)


def test_without_a_prediction_there_is_no_plot(saved: MeasurementResult) -> None:
    with pytest.raises(InputError, match="nothing was predicted"):
        measured_figure(dataclasses.replace(saved, predicted=None))
