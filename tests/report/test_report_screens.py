"""The layout of the screens at 80 columns and in a pipe.

Predictions shown here are made up, so that the layout is held to the last space whatever calibration does;
what comes from the catalogue or a recorded machine has its digits masked. A changed layout is written down
with ``pytest tests/report/test_report_screens.py --snapshot-update``.
"""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from estimator.app.detection import detection_result
from estimator.app.devices import list_devices, show_device
from estimator.app.request import Request, training_of
from estimator.app.source import open_network
from estimator.app.work import layers_result
from estimator.detect.host import detect_with
from estimator.networks.lowering import lower
from estimator.provenance import Assumption
from estimator.report.formats.terminal import render_table
from estimator.report.screens.comparison import comparison_screen
from estimator.report.screens.detection import detection_screen
from estimator.report.screens.devices import list_screen, show_screen
from estimator.report.screens.prediction import prediction_screen
from estimator.report.screens.work import layers_screen
from estimator.results.prediction import (
    BoundSummary,
    ComparisonResult,
    DeviceSummary,
    LayerGain,
    LayerSummary,
    MemorySummary,
    PhaseSummary,
    Prediction,
    PredictionResult,
    StepSummary,
    TimeSummary,
)
from tests.detect.detect_shared import expand

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from estimator.report.blocks import Screen
    from estimator.results.detection import DetectionResult

MACHINES = Path(__file__).parent.parent / "machines"
WIDTHS = pytest.mark.parametrize("width", [80, None], ids=["80-columns", "pipe"])


def drawn(screen: Screen, width: int | None, *, masked: bool) -> str:
    text = render_table(screen, width=width, colour=False)
    if width is not None:
        assert max(map(len, text.splitlines())) <= width
    return re.sub(r"\d", "0", text) if masked else text


def time(expected: float) -> TimeSummary:
    return TimeSummary(
        expected=expected, low=expected * 0.75, high=expected * 1.3, coverage=0.8, basis="calibrated device"
    )


def predicted(name: str, kind: str, step_s: float, *, lanes: float, fits: bool = True) -> Prediction:
    device = DeviceSummary(
        name=name, id=name.lower().replace(" ", "-"), kind=kind, devices=1, detected=kind == "cpu",
        lanes=lanes, peak_flop_per_s=lanes * 3e9, bandwidth_bytes_per_s=lanes * 1.5e8,
    )  # fmt: skip
    phases = PhaseSummary(
        forward_s=step_s * 0.3, backward_s=step_s * 0.6, optimizer_s=step_s * 0.1, communication_s=0.0,
        data_s=0.0,
    )  # fmt: skip
    bounds = BoundSummary(
        compute_s=step_s * 0.6, memory_s=step_s * 0.3, launch_s=step_s * 0.1, host_s=0.0,
        communication_s=0.0, serial_s=0.0,
    )  # fmt: skip
    return Prediction(
        device=device,
        step=StepSummary(
            time_s=time(step_s), samples_per_s=64 / step_s, mfu=0.41, phases=phases, bounds=bounds
        ),
        steps=78_125,
        epoch_s=step_s * 781.25,
        epoch_range_s=time(step_s * 781.25),
        total_s=step_s * 78_125,
        total_range_s=time(step_s * 78_125),
        memory=MemorySummary(
            weights_bytes=2**30, gradients_bytes=2**30, optimizer_bytes=2**31, activations_bytes=3 * 2**30,
            other_bytes=2**29, total_bytes=15 * 2**29, capacity_bytes=2**33 if fits else 2**32,
            fits=fits, largest_batch=72 if fits else 20,
        ),
        layers=(
            LayerSummary(
                path="features.0.Conv2d", forward_s=step_s * 0.2, backward_s=step_s * 0.4, bound="compute"
            ),
            LayerSummary(path="features.0.ReLU", forward_s=step_s * 0.1, backward_s=0.0, bound="memory"),
        ),
        assumptions=(Assumption(what="batch", value="64", why="not said; change it with --batch"),),
    )  # fmt: skip


CPU = predicted("Intel Core i7-5960X", "cpu", 4.2, lanes=128)
GPU = predicted("NVIDIA GeForce GTX 1080 Ti", "gpu", 0.21, lanes=3584)
SMALL_GPU = predicted("NVIDIA GeForce GT 1030", "gpu", 1.9, lanes=384, fits=False)
INPUTS = {"network": "vgg16", "network_file": "vgg16"}


@WIDTHS
def test_predict(snapshot: SnapshotAssertion, width: int | None) -> None:
    result = PredictionResult(inputs=INPUTS, predictions=(GPU, SMALL_GPU), warnings=("a warning",))
    assert drawn(prediction_screen(result), width, masked=False) == snapshot


@WIDTHS
def test_compare(snapshot: SnapshotAssertion, width: int | None) -> None:
    gain = LayerGain(
        path="features.0.Conv2d", baseline=CPU.device.name, device=GPU.device.name, baseline_s=2.5,
        device_s=0.1, speed_up=25.0,
    )  # fmt: skip
    result = ComparisonResult(
        inputs=INPUTS,
        predictions=(CPU, GPU, SMALL_GPU),
        explanation=("NVIDIA GeForce GTX 1080 Ti has 28x the lanes, and trains 20x as fast.",),
        gains=(gain,),
        baseline=CPU.device.id,
    )
    assert drawn(comparison_screen(result), width, masked=False) == snapshot


@WIDTHS
def test_layers(snapshot: SnapshotAssertion, width: int | None) -> None:
    request = Request(network="lenet5", batch=64)
    found = open_network(request.network, (), io.BytesIO())
    training = training_of(request, found.training)
    result = layers_result(lower(found.network, training), precision=training.precision.name)
    assert drawn(layers_screen(result, asked="lenet5"), width, masked=True) == snapshot


@WIDTHS
def test_devices_show(snapshot: SnapshotAssertion, width: int | None) -> None:
    text = drawn(show_screen(show_device("gtx-1080-ti")), width, masked=True)
    calibration = re.sub(r"calibration: [^\n]*", "calibration: (masked)", text)
    assert calibration == snapshot


def detected(machine: str) -> DetectionResult:
    """Return what detection says of a recorded machine."""
    described = yaml.safe_load((MACHINES / f"{machine}.yaml").read_text(encoding="utf-8"))
    return detection_result(detect_with(expand(described).seams()))


def test_a_gpus_tensor_cores_link_and_the_clock_of_its_peaks_are_shown() -> None:
    text = drawn(detection_screen(detected("desktop-rtx-3090")), None, masked=False)
    assert re.search(r"tensor cores +328\n", text)
    assert re.search(r"link +PCIe 4\.0 x16, 31\.5 GB/s\n", text)
    assert re.search(r"clock +2100 MHz at most\n", text)
    assert re.search(r"peaks are at these clocks: .*RTX 3090 1,695 MHz", text)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("radeon-7900xtx-beside-apu", "stream processors / CUs"),
        ("desktop-rtx-3090", "CUDA cores / SMs"),
        ("mac-m1-pro", "lanes / GPU cores"),
    ],
)
def test_units_have_their_vendors_words(machine: str, words: str) -> None:
    text = drawn(detection_screen(detected(machine)), None, masked=False)
    assert words in text
    assert words == "CUDA cores / SMs" or "CUDA" not in text


def test_a_probe_of_one_thread_is_not_called_threads() -> None:
    rate = {"value": 1e9, "low": 1e9, "high": 1e9, "noisy": False}
    names = ("read_bytes_per_s_1_threads", "float32_flop_per_s_12_threads", "clock_hz_1_thread")
    probe = {"threads": 12, "took_s": 1.0, "rates": dict.fromkeys(names, rate)}
    result = detected("desktop-rtx-3090")
    shown = replace(result, host=replace(result.host, probe=probe))
    text = drawn(detection_screen(shown), None, masked=False)
    assert "read 1 thread " in text
    assert "float32 products 12 threads " in text
    assert "clock, 1 thread " in text


def test_devices_that_draw_nothing_are_not_called_gpus() -> None:
    said = {
        name: drawn(show_screen(show_device(name)), None, masked=False) for name in ("tpu-v4", "gaudi2", "t4")
    }
    assert "google, accelerator" in said["tpu-v4"]
    assert "intel, accelerator" in said["gaudi2"]
    assert "nvidia, GPU" in said["t4"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("i9-13900HX", "so peaks are a lower bound"),
        ("Apple M3 CPU", "the AMX block of a cluster is not counted"),
    ],
)
def test_what_a_peak_leaves_out_is_said(name: str, said: str) -> None:
    text = drawn(show_screen(show_device(name)), None, masked=False)
    assert re.search(rf"note .*{said}", text)


def test_small_memories_are_listed_with_decimals() -> None:
    listed = drawn(
        list_screen(list_devices(vendor="graphcore", year=2018, memory=None, sort="name")), None, masked=False
    )
    assert re.search(r"Graphcore IPU GC2 .* 0\.3 ", listed)


def test_a_bare_number_of_memory_is_in_gib() -> None:
    found = list_devices(vendor=None, year=None, memory="24", sort="name").devices
    assert found
    assert all((device.memory_bytes or 0) >= 24 * 2**30 for device in found)


def test_a_cpus_vendor_and_kind_are_of_its_own_source() -> None:
    provenance = show_device("i7-5960x").provenance
    assert "ARK" in provenance["vendor"]["source"]
    assert "ARK" in provenance["kind"]["source"]
    assert "year" not in provenance


@WIDTHS
@pytest.mark.parametrize("machine", ["desktop-rtx-3090", "docker-quota-half", "empty"])
def test_detect(snapshot: SnapshotAssertion, machine: str, width: int | None) -> None:
    described = yaml.safe_load((MACHINES / f"{machine}.yaml").read_text(encoding="utf-8"))
    facts = detect_with(expand(described).seams())
    text = drawn(detection_screen(detection_result(facts)), width, masked=True)
    findings = re.compile(r"^not known: .*?(?=^not known: |^next: )", re.DOTALL | re.MULTILINE)
    assert findings.sub("not known: (masked)\n", text) == snapshot
