"""The launch probe on a stand-in for PyTorch."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from estimator.app import probing
from estimator.app.detection import detection_result
from estimator.detect.host import detect_with
from estimator.measure.probe_gpu import probe_launch
from estimator.measure.probes import CpuProbe
from estimator.provenance import Basis
from estimator.report.formats.terminal import render_table
from estimator.report.screens.detection import detection_screen
from tests.detect.detect_shared import expand

if TYPE_CHECKING:
    from estimator.detect.facts import HostFacts

MACHINES = Path(__file__).parent.parent / "machines"


class FakeNumber:
    """A tensor that counts the kernels launched on it."""

    def __init__(self) -> None:
        self.launches = 0

    def add_(self, _value: int) -> None:
        self.launches += 1


def fake_torch(number: FakeNumber, *, available: bool = True, error: Exception | None = None) -> Any:  # noqa: ANN401 - stands in for a module
    """Return what the probe uses of PyTorch."""

    def synchronize() -> None:
        if error is not None:
            raise error

    cuda = SimpleNamespace(is_available=lambda: available, synchronize=synchronize)
    return SimpleNamespace(cuda=cuda, zeros=lambda _count, device: number if device == "cuda" else None)


def test_time_of_a_launch() -> None:
    number = FakeNumber()
    ticks = itertools.count()
    measured, findings = probe_launch(torch=fake_torch(number), clock=lambda: next(ticks) * 2e-3)
    assert measured is not None
    assert measured.value == pytest.approx(4e-6)
    assert number.launches == 100 + 7 * 500
    assert findings == ()


@pytest.mark.parametrize(
    ("torch", "why"),
    [
        (fake_torch(FakeNumber(), available=False), "finds no GPU"),
        (
            fake_torch(FakeNumber(), error=RuntimeError("CUDA error:\n no kernel image")),
            "CUDA error: no kernel image",
        ),
    ],
)
def test_reasons(torch: Any, why: str) -> None:  # noqa: ANN401 - stands in for a module
    measured, findings = probe_launch(torch=torch)
    assert measured is None
    assert why in findings[0].why


@pytest.fixture
def quick_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the CPUs unmeasured: their probe takes its two seconds elsewhere."""
    monkeypatch.setattr(probing, "probe_host", lambda _facts: CpuProbe(threads=16))


def machine(name: str) -> HostFacts:
    text = (MACHINES / f"{name}.yaml").read_text(encoding="utf-8")
    return detect_with(expand(yaml.safe_load(text)).seams())


@pytest.mark.usefixtures("quick_cpu")
def test_detect_shows_the_launch_cost_that_was_measured() -> None:
    facts = machine("desktop-rtx-3090")
    probe = probing.probe_machine(facts, torch=fake_torch(FakeNumber()))
    result = detection_result(facts, probe)
    assert probe.launch is not None
    cpu, gpu = result.host.devices
    assert (cpu.launch_s, gpu.launch_s) == (None, probe.launch.value)
    assert gpu.provenance["launch_s"]["basis"] == Basis.MEASURED_HERE
    assert result.host.probe is not None
    assert result.host.probe["rates"]["launch_s"]["value"] == probe.launch.value
    assert "kernel launch" in render_table(detection_screen(result), width=None, colour=False)


@pytest.mark.usefixtures("quick_cpu")
@pytest.mark.parametrize("error", [ImportError("no module"), OSError("libcudart.so.12: cannot open")])
def test_detect_goes_on_without_a_pytorch_that_loads(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_name: str) -> None:
        raise error

    monkeypatch.setattr("estimator.measure.probe_gpu.importlib.import_module", fail)
    facts = machine("desktop-rtx-3090")
    result = detection_result(facts, probing.probe_machine(facts))
    assert result.host.devices[1].launch_s is None
    assert any("kernel launch" in found.what and "PyTorch" in found.why for found in result.findings)


@pytest.mark.usefixtures("quick_cpu")
@pytest.mark.parametrize("name", ["desktop-i7-5960x", "arc-a770"])
def test_pytorch_is_not_imported_where_it_reaches_no_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> None:
        raise AssertionError

    monkeypatch.setattr("estimator.measure.probe_gpu.importlib.import_module", fail)
    probe = probing.probe_machine(machine(name))
    assert (probe.launch, probe.findings) == (None, ())


def test_detect_without_a_probe_measures_no_launch() -> None:
    result = detection_result(machine("desktop-rtx-3090"))
    assert all(device.launch_s is None for device in result.host.devices)
