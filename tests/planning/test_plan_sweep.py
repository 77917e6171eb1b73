"""A sweep gives the same answers as one prediction after another, and many of them fast."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from estimator.app.axes import Axis
from estimator.app.here import Grounds
from estimator.app.marks import marked
from estimator.app.prediction import predict_named
from estimator.app.request import Request, training_of
from estimator.app.source import open_network, open_source
from estimator.app.sweep import sweep
from estimator.app.systems import named_system
from estimator.catalog.calibration import load_calibration
from estimator.hardware.efficiency import Scale
from estimator.results.sweep import SweepPoint

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.results.sweep import SweepResult
    from tests.planning.conftest import Run

NOBODY = io.BytesIO()


def swept(network: str, axes: dict[str, tuple[str | int, ...]], *devices: str) -> SweepResult:
    systems = {name: named_system(name, count=None, link=None) for name in devices}
    listed = [Axis(name=name, values=values) for name, values in axes.items()]
    if len(devices) > 1:
        listed.append(Axis(name="device", values=devices))
    request = Request(network=network)
    return sweep(open_source(network, NOBODY), request, listed, systems, load_calibration())


def predicted(point: SweepPoint, network: str, device: str) -> tuple[float, float, float, int]:
    """Return step time, its range and memory of one point, predicted by itself."""
    said = point.settings
    overrides = tuple(f"{n.removeprefix('set ')}={v}" for n, v in said.items() if n.startswith("set "))
    request = Request(
        network=network,
        overrides=overrides,
        batch=point.batch,
        precision=str(said["precision"]) if "precision" in said else None,
        optimizer=str(said["optimizer"]) if "optimizer" in said else None,
        checkpointing=str(said["checkpointing"]) if "checkpointing" in said else None,
        accumulation=int(said["accumulation"]) if "accumulation" in said else None,
    )
    described = open_network(network, overrides, NOBODY)
    system = named_system(device, count=int(said.get("devices", 1)), link=None)
    training = training_of(request, described.training)
    (one,), _ = predict_named(described.network, request, training, [system], load_calibration())
    time_s = one.step.time_s
    return time_s.expected, time_s.low, time_s.high, one.memory.total_bytes


@pytest.mark.parametrize(
    ("network", "axes"),
    [
        ("resnet18", {"precision": ("fp32", "amp"), "devices": (1, 4), "batch": (3, 16, 200)}),
        ("mlp_mnist", {"optimizer": ("sgd", "adam"), "accumulation": (1, 4), "batch": (1, 33, 1024)}),
        ("bert_base", {"set seq": (64, 128), "checkpointing": ("none", "blocks"), "batch": (2, 7, 8)}),
        ("lstm_lm", {"batch": (1, 20, 64)}),
    ],
)
def test_every_point_is_what_predict_says(network: str, axes: dict[str, tuple[str | int, ...]]) -> None:
    devices = ("RTX 2080 Ti", "GTX 1080", "i7-6700K")
    result = swept(network, axes, *devices)
    assert len(result.points) == len(devices) * _count(axes)
    for point in result.points[::2]:
        step_s, low_s, high_s, memory = predicted(point, network, str(point.settings["device"]))
        assert point.step_s == pytest.approx(step_s, rel=0.01)
        assert (point.low_s, point.high_s) == pytest.approx((low_s, high_s), rel=0.01)
        assert point.memory_bytes == pytest.approx(memory, rel=0.01)


def _count(axes: dict[str, tuple[str | int, ...]]) -> int:
    count = 1
    for values in axes.values():
        count *= len(values)
    return count


def test_a_device_measured_here_rests_on_its_own_calibration() -> None:
    """As predict does: the device measured with its calibration, beside another on the shipped one."""
    shipped = load_calibration()
    slow = replace(shipped, devices={**shipped.devices, "i7-6700k": Scale(compute=0.5)})
    names = ("i7-6700K", "GTX 1080")
    systems = {name: named_system(name, count=None, link=None) for name in names}

    def ground(device: Device) -> Grounds:
        measured = device.id == "i7-6700k"
        return Grounds(device=device, calibration=slow if measured else shipped, measured_here=measured)

    axes = [Axis(name="device", values=names), Axis(name="batch", values=(8, 64))]
    request = Request(network="lenet5")
    found = sweep(open_source("lenet5", NOBODY), request, axes, systems, shipped, ground=ground)
    described = open_network("lenet5", (), NOBODY)
    for point in found.points:
        one = replace(request, batch=point.batch)
        system = systems[str(point.settings["device"])]
        training = training_of(one, described.training)
        (alone,), _ = predict_named(described.network, one, training, [system], shipped, ground=ground)
        time_s = alone.step.time_s
        assert (point.step_s, point.low_s) == pytest.approx((time_s.expected, time_s.low))
    assert "measured here" in found.basis


def test_points_keep_the_order_of_the_axes() -> None:
    result = swept("lenet5", {"precision": ("fp32", "amp"), "batch": (64, 32)}, "RTX 2080 Ti")
    assert [tuple(p.settings.values()) for p in result.points] == [
        ("fp32", 64), ("fp32", 32), ("amp", 64), ("amp", 32),
    ]  # fmt: skip


def test_a_device_without_the_format_is_left_out_with_a_reason() -> None:
    result = swept("lenet5", {"precision": ("fp32", "fp8"), "batch": (1, 2)}, "GTX 1080")
    assert {p.settings["precision"] for p in result.points} == {"fp32"}
    assert any("fp8" in warning for warning in result.warnings)


def point(batch: int, samples_per_s: float, *, fits: bool = True) -> SweepPoint:
    return SweepPoint(
        settings={"batch": batch}, device="d", devices=1, batch=batch, step_s=1.0, low_s=1.0, high_s=1.0,
        samples_per_s=samples_per_s, memory_bytes=1, fits=fits,
    )  # fmt: skip


def test_knee_and_wall() -> None:
    """90 of 95 is within a tenth; 100 does not count, for it does not fit."""
    rows = marked([point(1, 40), point(2, 70), point(4, 90), point(8, 95), point(16, 100, fits=False)])
    assert [row.batch for row in rows if row.knee] == [4]
    assert [row.batch for row in rows if row.wall] == [8]


def test_no_wall_where_all_fit_and_no_knee_where_none_does() -> None:
    assert not any(row.wall for row in marked([point(1, 40), point(2, 70)]))
    assert not any(row.knee for row in marked([point(1, 40, fits=False), point(2, 70, fits=False)]))


def test_a_hundred_thousand_points_take_seconds() -> None:
    batches = tuple(range(1, 1001))
    axes: dict[str, tuple[str | int, ...]] = {
        "precision": ("fp32", "amp"), "optimizer": ("sgd", "momentum", "adam", "adamw", "lion"),
        "devices": (1, 8), "batch": batches,
    }  # fmt: skip
    start = time.process_time()
    result = swept("resnet18", axes, "RTX 2080 Ti", "A100-SXM-40GB", "T4", "GTX 1080", "i7-6700K")
    assert len(result.points) == 100_000
    assert time.process_time() - start < 15


def test_the_screen_and_its_csv(run: Run) -> None:
    arguments = ("sweep", "lenet5", "-d", "GTX 1080", "--batch", "1..4096*2", "--precision", "fp32,amp")
    shown = run(*arguments)
    assert shown.exit_code == 0
    assert shown.output.startswith("lenet5: fastest with ")
    assert "knee" in shown.output
    assert "next: estimator predict lenet5 --device" in shown.output
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--rows", "3", "-f", "csv").output)))
    assert len(rows) == 26
    data = json.loads(run(*arguments, "-f", "json").output)
    assert data["points"][data["best"]]["samples_per_s"] == max(p["samples_per_s"] for p in data["points"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing is swept"),
        (("--batch", "8..1"), "a range goes up"),
        (("--precision", "fp32,fp31"), "did you mean 'fp32'"),
        (("--set", "depth=1,2"), "no parameter"),
        (("--set", "depth"), "name=list"),
        (("--batch", "1,2", "--precision", "fp32,amp,bf16", "--zip"), "differ in length"),
    ],
)
def test_mistakes_are_explained(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run("sweep", "lenet5", "-d", "GTX 1080", *arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_settings_whose_samples_differ_in_length_are_ranked_by_tokens() -> None:
    result = swept("gpt2", {"set seq": (128, 1024), "batch": (4,)}, "RTX 2080 Ti")
    short, long = sorted(result.points, key=lambda p: int(p.settings["set seq"]))
    assert short.samples_per_s > long.samples_per_s
    assert long.tokens_per_s == pytest.approx(1024 * long.samples_per_s)
    assert result.best is not None
    assert result.points[result.best].tokens_per_s == max(
        p.tokens_per_s or 0.0 for p in result.points if p.fits
    )
