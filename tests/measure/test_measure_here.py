"""This machine's own calibration: kept, used, dropped when the machine is another, carried over to others."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

from estimator.app.here import (
    any_here,
    calibration_here,
    calibration_text,
    fingerprint,
    grounding,
    here_file,
)
from estimator.app.here_calibration import Row, calibrated_here, calibration_networks, fitted, log_errors
from estimator.app.host import host_devices
from estimator.app.prediction import lowered
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import resolve_device
from estimator.catalog.networks import zoo
from estimator.cli.host import host_facts
from estimator.cli.main import program
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.system import System
from estimator.measure.session import StepMeasurement
from estimator.measure.statistics import times_of
from estimator.networks.training import Training
from estimator.predict.step import estimate_step

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.app.here import (
        HereCalibration,
    )
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration

pytestmark = pytest.mark.usefixtures("own_folder")
SHIPPED = load_calibration()


def slower(calibration: Calibration) -> Calibration:
    """Return a machine whose convolutions reach half and whose element-wise kernels move half as much."""
    changes = {
        key: replace(regime, compute=regime.compute * 0.5, memory=regime.memory * 0.5)
        for key, regime in calibration.cpu.regimes.items()
        if key.startswith(("conv", "elementwise", "gemm"))
    }
    return replace(calibration, cpu=replace(calibration.cpu, regimes={**calibration.cpu.regimes, **changes}))


def rows_of(device: Device, truth: Calibration) -> list[Row]:
    """Return the calibration set as a machine would measure it whose truth is another calibration."""
    rows = []
    for network in calibration_networks():
        for times in (1, 4):
            training = Training(**network.recipe)
            run = lowered(network, replace(training, batch=times * training.batch), device.kind)
            step = estimate_step(
                run.workload, System(device=device), software=run.training.software,
                policy=training.precision, calibration=truth,
            )  # fmt: skip
            phases = {
                name: times_of([getattr(step.phases, f"{name}_s")])
                for name in ("forward", "backward", "optimizer")
            }
            measured = StepMeasurement(
                step=times_of([step.time.expected]), phases=phases, layers=(), memory_peak_bytes=None,
                parameters=0, device="cpu", warm_up_steps=1, interrupted=False, software={"torch": "2.0"},
            )  # fmt: skip
            rows.append(
                Row(network=network.name, batch=run.training.batch, run=run, measured=measured, device=device)
            )
    return rows


@pytest.fixture(scope="module")
def device() -> Device:
    return host_devices(host_facts(None)).devices[0]


@pytest.fixture(scope="module")
def rows(device: Device) -> list[Row]:
    return rows_of(device, slower(SHIPPED))


def test_the_set_is_none_of_the_zoo() -> None:
    names = {network.name for network in calibration_networks()}
    assert len(names) >= 8
    assert not names & set(zoo())


def test_a_fit_finds_what_the_machine_does(rows: list[Row]) -> None:
    before = np.median(np.abs(log_errors(rows, SHIPPED)))
    after = np.median(np.abs(log_errors(rows, fitted(rows, SHIPPED, "test"))))
    assert before > 0.3
    assert after < 0.05


@pytest.fixture(scope="module")
def made_here(rows: list[Row]) -> HereCalibration:
    facts = host_facts(None)
    made, result = calibrated_here(rows, SHIPPED, facts, date="2026-01-02", took_s=1.0, saved_as="x")
    assert result.median_error_left_out is not None
    assert result.median_error_left_out < result.median_error_before
    return made


@pytest.fixture
def kept(made_here: HereCalibration, own_folder: Path) -> HereCalibration:
    """Return this machine's calibration, lying where it is looked for."""
    assert here_file("x").is_relative_to(own_folder)
    made = made_here
    path = here_file(made.device_id)
    path.parent.mkdir(parents=True)
    path.write_text(calibration_text(made), encoding="utf-8")
    return made


def test_kept_used_and_dropped(kept: HereCalibration, device: Device) -> None:
    made = kept
    assert any_here()
    facts = host_facts(None)
    found = calibration_here(device.id, facts)
    assert found == made
    ground = grounding(facts, SHIPPED)
    own = ground(device)
    assert own.measured_here
    assert own.assumptions[0].value == "measured here on 2026-01-02"
    other = replace(facts, memory=replace(facts.memory, usable_bytes=2**38))
    assert fingerprint(other) != fingerprint(facts)
    assert calibration_here(device.id, other) is None
    assert not grounding(other, SHIPPED)(device).measured_here
    here_file(device.id).write_text("{", encoding="utf-8")
    assert calibration_here(device.id, facts) is None


def test_others_of_its_kind_move_half_way_and_get_a_wider_range(kept: HereCalibration) -> None:
    made = kept
    ground = grounding(host_facts(None), SHIPPED)
    cpu = ground(resolve_device("EPYC 7742").device)
    shipped, here, moved = (
        c.cpu.regimes["conv"].compute for c in (SHIPPED, made.calibration, cpu.calibration)
    )
    assert moved == pytest.approx(np.sqrt(shipped * here))
    assert not cpu.measured_here
    assert "wider" in cpu.assumptions[0].why
    key = next(iter(SHIPPED.spreads))
    assert cpu.calibration.spreads[key].quantiles[0.8] > SHIPPED.spreads[key].quantiles[0.8]
    gpu = ground(resolve_device("RTX 4090").device)
    assert gpu.calibration is SHIPPED
    assert gpu.device.kind is DeviceKind.GPU
    assert gpu.assumptions == ()


@pytest.mark.usefixtures("kept")
def test_predictions_here_say_so() -> None:
    done = CliRunner().invoke(program(), ["predict", "lenet5", "--device", "cpu", "--format", "json"])
    prediction = json.loads(done.stdout)["predictions"][0]
    assert prediction["step"]["time_s"]["basis"] == "measured here"
    assert any(a["value"].startswith("measured here on") for a in prediction["assumptions"])


def test_calibrate_without_here_asks(own_folder: Path) -> None:
    done = CliRunner().invoke(program(), ["calibrate"])
    assert done.exit_code == 2
    assert "--here" in done.stderr
    assert not own_folder.exists()


@pytest.mark.torch
def test_the_command_measures_and_keeps(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    few = calibration_networks()[4:7:2]
    monkeypatch.setattr("estimator.app.here_calibration.calibration_networks", lambda: few)
    monkeypatch.setattr("estimator.app.here_calibration.at_measured_clock", lambda device, _facts: device)
    done = CliRunner().invoke(
        program(),
        ["calibrate", "--here", "--for", "5s", "--threads", "1", "--cpu-time", "--format", "json"],
    )
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["measured"] == 6
    path = own_folder / "estimator" / "here" / f"{data['device']['id']}.json"
    assert path.is_file()
    assert str(path) == data["saved_as"]
