"""A real training step: phases, layers, memory, and what goes wrong."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from estimator.app.prediction import lowered
from estimator.app.source import open_network
from estimator.errors import MeasurementError
from estimator.hardware.architecture import DeviceKind
from estimator.measure.clock import ThreadClock
from estimator.measure.loop import repeat
from estimator.measure.session import Order, measure_step
from estimator.measure.statistics import times_of
from estimator.networks.training import Checkpointing
from estimator.precision import POLICIES

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.measure.loop import Repetitions
    from estimator.networks.training import Training

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def order(path: Path | str, **changes: Any) -> Order:  # noqa: ANN401 - fields of a recipe
    described = open_network(str(path), (), io.BytesIO())
    training: Training = replace(described.training, **changes)
    run = lowered(described.network, training, DeviceKind.CPU)
    return Order(
        network=described.network, training=run.training, device="cpu", needed_bytes=1, budget_s=0.3,
        threads=1, cpu_time=True,
    )  # fmt: skip


def test_phases_and_layers_add_up(tiny: Path) -> None:
    measured = measure_step(order(tiny))
    assert set(measured.phases) == {"forward", "backward", "optimizer"}
    total = sum(times.median for times in measured.phases.values())
    assert total == pytest.approx(measured.step.median, rel=0.3)
    assert [layer.path for layer in measured.layers] == [
        "first", "ReLU", "Residual.Conv2d", "Residual.BatchNorm2d", "Residual.add", "Flatten", "Linear",
        "loss",
    ]  # fmt: skip
    assert all(layer.backward_s > 0 for layer in measured.layers)
    assert measured.sum_of_layers_s == pytest.approx(measured.step.median, rel=0.4)
    assert measured.step.p10 <= measured.step.median <= measured.step.p90
    assert not measured.interrupted


@pytest.mark.parametrize(("name", "batch"), [("mlp_mnist", 64), ("cifar10_cnn", 16), ("lenet5", 128)])
def test_parameters_and_memory_are_the_description_s(name: str, batch: int) -> None:
    asked = order(name, batch=batch)
    run = lowered(asked.network, asked.training, DeviceKind.CPU)
    measured = measure_step(asked)
    assert measured.parameters == run.workload.parameters
    assert measured.memory_peak_bytes == pytest.approx(run.workload.footprint.total_bytes, rel=0.2)


def test_tied_weights_and_indices(words: Path) -> None:
    measured = measure_step(order(words))
    assert measured.parameters == 50 * 12 + 4 * 12 * (12 + 12 + 2)


def test_inference_has_no_backward(tiny: Path) -> None:
    measured = measure_step(order(tiny, training=False))
    assert set(measured.phases) == {"forward"}
    assert all(layer.backward_s == 0 for layer in measured.layers)


@pytest.mark.parametrize(
    "name", ["sgd", "nesterov", "adam", "rmsprop", "adagrad", "adafactor", "lion", "none"]
)
def test_every_optimizer_steps(tiny: Path, name: str) -> None:
    from estimator.networks.optimizers import OPTIMIZERS

    assert measure_step(replace(order(tiny, optimizer=OPTIMIZERS.get(name)), memory=False)).step.median > 0


@pytest.mark.parametrize("name", ["amp-bf16", "bf16", "fp64"])
def test_precisions(tiny: Path, name: str) -> None:
    assert measure_step(order(tiny, precision=POLICIES.get(name))).step.median > 0


def test_accumulation_runs_the_passes(tiny: Path) -> None:
    one, four = (measure_step(order(tiny, accumulation=n, batch=64)).step.median for n in (1, 4))
    assert 2 < four / one < 6


class Failing:
    """A step that does what a test wants of it after so many runs."""

    def __init__(self, after: int, raised: BaseException) -> None:
        self.after, self.raised, self.runs = after, raised, 0
        self.graph = self
        self.watch: object = None

    def run(self, clock: ThreadClock) -> list[Any]:
        from estimator.measure.step import Span

        self.runs += 1
        if self.runs > self.after:
            raise self.raised
        return [Span("forward", clock.mark(), clock.mark())]

    def check_loss(self) -> None: ...


def test_an_interrupt_leaves_what_there_is() -> None:
    step: Any = Failing(20, KeyboardInterrupt())
    done: Repetitions = repeat(step, ThreadClock(), 5.0, watch=False)
    assert done.interrupted
    assert 0 < len(done.steps_s) <= 18
    nothing: Any = Failing(1, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        repeat(nothing, ThreadClock(), 5.0, watch=False)


def test_too_large_is_refused_before_anything_is_allocated(tiny: Path) -> None:
    asked = replace(order(tiny), needed_bytes=2**50, limit_bytes=2**30, largest_batch=7)
    with pytest.raises(MeasurementError, match=r"needs about 1,024 TiB .*--batch 7") as caught:
        measure_step(asked)
    assert caught.value.exit_code == 3


def test_out_of_memory_is_explained(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:118] not enough memory: you tried to allocate 9 bytes."
        )

    monkeypatch.setattr("estimator.measure.step.TrainingStep.run", fail)
    with pytest.raises(MeasurementError, match=r"out of memory at batch 4.*smaller --batch"):
        measure_step(order(tiny))


def test_a_loss_that_is_no_number_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = order(tiny)
    monkeypatch.setattr(
        "estimator.measure.step.random_inputs", lambda *_: (torch.full((4, 3, 8, 8), torch.nan),)
    )
    with pytest.raises(MeasurementError, match="the loss is nan"):
        measure_step(asked)


@pytest.mark.parametrize(
    ("device", "message"),
    [("tpu", "knows no device"), ("cuda:0", "--device cuda:0"), ("xla", "only cpu, cuda and mps")],
)
def test_wrong_devices(tiny: Path, device: str, message: str) -> None:
    if device == "cuda:0" and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(MeasurementError, match=message):
        measure_step(replace(order(tiny), device=device, threads=None, cpu_time=False))


def test_what_is_not_measured_is_said(tiny: Path) -> None:
    with pytest.raises(MeasurementError, match="checkpoint"):
        measure_step(order(tiny, checkpointing=Checkpointing.BLOCKS))
    with pytest.raises(MeasurementError, match="Transformer Engine"):
        measure_step(order(tiny, precision=POLICIES.get("fp8")))
    with pytest.raises(MeasurementError, match="one thread"):
        measure_step(replace(order(tiny), threads=None))


def test_statistics() -> None:
    times = times_of([3.0, 1.0, 2.0, 5.0, 4.0])
    assert (times.median, times.p10, times.p90, times.steps) == (3.0, 1.4, 4.6, 5)
    assert times.spread == pytest.approx(3.2 / 3)
