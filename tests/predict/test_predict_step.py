from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest

from estimator.errors import InputError
from estimator.hardware.system import Interconnect, System
from estimator.precision import POLICIES, DType
from estimator.predict.estimate import Bound
from estimator.predict.run import Schedule, estimate_run
from estimator.predict.step import estimate_step
from estimator.predict.sweep import Sweep
from estimator.predict.table import build_table
from estimator.software import Software
from estimator.workload.kernel import GemmShape, Kernel, Op, Phase
from estimator.workload.workload import Collective, Footprint, LayerWork, Workload

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.estimate import StepEstimate

NOTHING = Footprint(weights_bytes=0, gradients_bytes=0, optimizer_bytes=0, activations_bytes=0, other_bytes=0)
LINK = Interconnect(id="x", name="x", alpha_s=30e-6, alpha_per_device_s=5e-6, bus_bytes_per_s=50e9)


def linear(batch: int, width: int, phase: Phase) -> Kernel:
    shape = GemmShape(1, batch, width, width)
    return Kernel(
        name="linear", op=Op.GEMM, phase=phase, compute=DType.FP32, flops=shape.flops,
        bytes_read=4 * width * (batch + width), bytes_written=4 * batch * width, shape=shape,
    )  # fmt: skip


def mlp(batch: int, width: int, depth: int = 4) -> Workload:
    kernels = tuple(linear(batch, width, phase) for phase in (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD))
    layers = tuple(
        LayerWork(
            path=f"fc{i}", kind="Linear", output_shape=(batch, width), parameters=width**2,
            trainable_parameters=width**2, saved_bytes=0, kernels=kernels,
        )
        for i in range(depth)
    )  # fmt: skip
    size = 4 * depth * width**2
    step = Kernel(
        name="sgd", op=Op.OPTIMIZER, phase=Phase.OPTIMIZER, compute=DType.FP32, bytes_read=3 * size,
        bytes_written=2 * size, launches=depth,
    )  # fmt: skip
    return Workload(
        network="mlp", batch=batch, layers=layers, optimizer=(step,), footprint=NOTHING,
        collectives=(Collective(kind="all_reduce", bytes=size),),
    )  # fmt: skip


def estimate(work: Workload, system: System, calibration: Calibration, coverage: float = 0.8) -> StepEstimate:
    return estimate_step(
        work, system, software=Software(), policy=POLICIES.get("fp32"), calibration=calibration,
        coverage=coverage,
    )  # fmt: skip


def total(part: object) -> float:
    return sum(getattr(part, f.name) for f in fields(part))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [64, 4096])
def test_phases_bounds_and_layers_add_up_to_the_step(
    v100: Device, desktop_cpu: Device, calibration: Calibration, width: int
) -> None:
    for device in (v100, desktop_cpu):
        step = estimate(mlp(256, width), System(device=device), calibration)
        assert total(step.phases) == pytest.approx(step.time.expected)
        assert total(step.bounds) == pytest.approx(step.time.expected)
        layers = sum(layer.forward_s + layer.backward_s for layer in step.layers)
        assert layers + step.phases.optimizer_s == pytest.approx(step.time.expected)


def test_a_small_network_waits_for_its_host_and_a_large_one_for_arithmetic(
    v100: Device, calibration: Calibration
) -> None:
    system = System(device=v100)
    small = estimate(mlp(128, 64), system, calibration)
    assert small.bounds.host_s + small.bounds.launch_s > 0.5 * small.time.expected
    large = estimate(mlp(4096, 4096), system, calibration)
    assert large.bounds.largest is Bound.COMPUTE
    assert large.mfu is not None
    assert 0.4 < large.mfu < 1.0


def test_a_gpu_can_lose_to_a_cpu_on_a_tiny_network_and_wins_on_a_large_batch(
    v100: Device, desktop_cpu: Device, calibration: Calibration
) -> None:
    def ratio(batch: int, width: int) -> float:
        gpu, cpu = (
            estimate(mlp(batch, width), System(device=device), calibration) for device in (v100, desktop_cpu)
        )
        return cpu.time.expected / gpu.time.expected

    assert ratio(1024, 2048) > 8
    assert ratio(16, 32) < 3


def test_more_coverage_is_a_wider_range_around_the_same_time(v100: Device, calibration: Calibration) -> None:
    narrow, wide = (estimate(mlp(256, 256), System(device=v100), calibration, c).time for c in (0.5, 0.95))
    assert narrow.expected == wide.expected
    assert wide.low < narrow.low < narrow.expected < narrow.high < wide.high
    with pytest.raises(InputError, match="between 0 and 1"):
        estimate(mlp(256, 256), System(device=v100), calibration, 1.0)


def test_data_parallel_training_exposes_part_of_the_exchange(v100: Device, calibration: Calibration) -> None:
    alone = estimate(mlp(1024, 4096), System(device=v100), calibration)
    four = estimate(mlp(1024, 4096), System(device=v100, count=4, within=LINK), calibration)
    assert four.samples == 4 * alone.samples
    assert 2 < four.samples_per_s / alone.samples_per_s < 4
    assert four.phases.communication_s == pytest.approx(total(four.phases) - total(alone.phases))
    with pytest.raises(InputError, match="name a link"):
        estimate(mlp(1024, 4096), System(device=v100, count=4), calibration)


def test_a_slow_input_pipeline_is_the_limit(v100: Device, calibration: Calibration) -> None:
    step = estimate_step(
        mlp(256, 256), System(device=v100), software=Software(), policy=POLICIES.get("fp32"),
        calibration=calibration, input_samples_per_s=1000.0,
    )  # fmt: skip
    assert step.samples_per_s == pytest.approx(1000.0, rel=0.01)
    assert total(step.bounds) == pytest.approx(step.time.expected)


def test_a_run_is_its_steps_validation_and_start(v100: Device, calibration: Calibration) -> None:
    step = estimate(mlp(100, 512), System(device=v100), calibration)
    run = estimate_run(step, Schedule(samples=1050, epochs=3, start_s=5.0))
    assert run.steps == 33
    assert run.total.expected == pytest.approx(33 * step.time.expected + 5.0)
    assert run.epoch is not None
    assert run.epoch.expected == pytest.approx(11 * step.time.expected)
    assert run.total.high / run.total.expected == pytest.approx(step.time.high / step.time.expected)
    with_validation = estimate_run(step, Schedule(samples=1050, epochs=3, validation_samples=1000))
    assert with_validation.total.expected == pytest.approx(
        33 * step.time.expected + 30 * step.phases.forward_s
    )
    with pytest.raises(InputError, match="neither steps nor samples"):
        estimate_run(step, Schedule())


def test_a_sweep_gives_the_steps_of_each_device(
    v100: Device, pascal: Device, desktop_cpu: Device, calibration: Calibration
) -> None:
    devices = (desktop_cpu, v100, pascal)
    work = replace(mlp(256, 256), collectives=())
    swept = Sweep(devices, Software(), calibration).step_s(build_table(work))
    for seconds, device in zip(swept, devices, strict=True):
        assert seconds == pytest.approx(estimate(work, System(device=device), calibration).time.expected)
