from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from estimator.catalog.lookup import load_device
from estimator.hardware.efficiency import SoftwareFactors
from estimator.hardware.system import System
from estimator.precision import POLICIES, DType
from estimator.predict.assumptions import assumptions_of
from estimator.predict.cpu import cpu_times
from estimator.predict.factors import host_seconds, kernel_release, library_factors, software_factors
from estimator.predict.fleet import Fleet, flight_share
from estimator.predict.gpu import gpu_times
from estimator.predict.sweep import kernel_times
from estimator.predict.table import table_of
from estimator.software import Software
from estimator.workload.kernel import ConvShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.table import KernelTable


def conv(size: int, channels: int, window: int = 3, samples: int = 64) -> Kernel:
    shape = ConvShape(
        samples, channels, channels, 1, (size, size), (size, size), (window, window), (1, 1), (1, 1)
    )
    each = 4 * samples * channels * size * size
    return Kernel(
        name="conv2d", op=Op.CONV, phase=Phase.FORWARD, compute=DType.FP32, flops=shape.flops,
        bytes_read=each, bytes_written=each, shape=shape,
    )  # fmt: skip


def update(count: int = 1000) -> Kernel:
    return Kernel(
        name="sgd", op=Op.OPTIMIZER, phase=Phase.OPTIMIZER, compute=DType.FP32, bytes_read=8 * count,
        bytes_written=4 * count, elementwise_flops=2 * count, elements=count,
    )  # fmt: skip


def lowered_cost(kernel: Kernel, device: Device, calibration: Calibration) -> float:
    """How much longer a convolution takes that copies windows out, sample by sample."""

    def software(*, lowered: bool) -> Calibration:
        entries = tuple(
            replace(entry, kinds={}, time=1.0, winograd=False, lowered=lowered)
            for entry in calibration.software
        )
        return replace(calibration, software=entries)

    def seconds(one: Calibration) -> float:
        return float(gpu_times(table_of([kernel]), Fleet((device,), Software(), one)).total_s[0, 0])

    return seconds(software(lowered=True)) / seconds(software(lowered=False))


def test_lowering_sample_by_sample_hurts_small_images_more_than_large_ones(
    v100: Device, calibration: Calibration
) -> None:
    large, small = conv(224, 64), conv(13, 256)
    assert 1.1 < lowered_cost(large, v100, calibration) < 8
    assert lowered_cost(small, v100, calibration) > lowered_cost(conv(56, 256), v100, calibration)
    pointwise = lowered_cost(conv(56, 256, window=1), v100, calibration)
    assert pointwise < lowered_cost(conv(56, 256), v100, calibration)


def test_an_eager_step_pays_for_its_calls_and_a_forward_pass_for_one(calibration: Calibration) -> None:
    factors = software_factors(calibration, Software())
    table = table_of([conv(13, 64), update()])
    forward = table.only([Phase.FORWARD])
    assert host_seconds(table, factors) > host_seconds(forward, factors) + 50e-6
    compiled = software_factors(calibration, replace(Software(), framework="caffe", era=2014))
    assert host_seconds(table, compiled) < host_seconds(table, factors)


def test_the_host_copies_the_input(calibration: Calibration) -> None:
    factors = software_factors(calibration, Software())
    table = table_of([conv(13, 64)])
    more = replace(table, input_bytes=12e6)
    issued = 2 * factors.host_s  # the samples, and their labels
    assert host_seconds(more, factors) - host_seconds(table, factors) == pytest.approx(1e-3 + issued)


def test_a_cpu_pays_for_the_optimizer_call_once(desktop_cpu: Device, calibration: Calibration) -> None:
    def launches(kernels: list[Kernel]) -> float:
        table: KernelTable = table_of(kernels)
        return float(table.runs @ cpu_times(table, (desktop_cpu,), Software(), calibration).launch_s[:, 0])

    one, two = launches([update(1000)]), launches([update(1000), update(2000)])
    assert one > 85e-6
    assert two - one < 40e-6


def test_later_releases_run_old_convolutions_no_faster(
    v100: Device, pascal: Device, calibration: Calibration
) -> None:
    now, then = Software(), Software(era=2019)
    old, newer = (
        replace(device, architecture=replace(device.architecture, year=year))
        for device, year in ((pascal, 2016), (v100, 2020))
    )
    convolutions = [library_factors(calibration, era, old, "conv") for era in (now, then)]
    assert convolutions[0] == convolutions[1]
    assert library_factors(calibration, now, old, "elementwise") == software_factors(calibration, now)
    assert library_factors(calibration, now, newer, "conv") == software_factors(calibration, now)


def test_few_large_units_stream_without_requests_in_flight(v100: Device) -> None:
    few = replace(
        v100, units=2, architecture=replace(v100.architecture, unit_name="MME"), bandwidth_bytes_per_s=2.4e12
    )
    assert flight_share(few, 17.7) == 1.0
    assert flight_share(replace(few, architecture=v100.architecture), 17.7) < np.float64(0.1)


def test_keras_has_the_kernels_of_what_it_drives_and_a_host_of_its_own(calibration: Calibration) -> None:
    tensorflow = SoftwareFactors(framework="tensorflow", until=9999, time=1.2, kinds={"conv": 1.4})
    keras = SoftwareFactors(
        framework="keras",
        until=9999,
        kernels_of="tensorflow",
        call_s={"forward": 0.002},
        input_bytes_per_s=1e9,
    )
    known = replace(calibration, software=(tensorflow, keras))
    found = software_factors(known, Software(framework="keras"))
    assert (found.time, found.kinds) == (1.2, {"conv": 1.4})
    assert (found.call_s, found.input_bytes_per_s) == ({"forward": 0.002}, 1e9)
    assert kernel_release(known, Software(framework="keras")) is tensorflow


def test_a_release_decides_what_a_launch_costs(v100: Device, calibration: Calibration) -> None:
    table = table_of([update(1000)])
    old = SoftwareFactors(framework="pytorch", until=9999, launch=3.0)

    def launch_s(software: tuple[SoftwareFactors, ...]) -> float:
        known = replace(calibration, software=software)
        return float(kernel_times(table, v100, Software(), known).launch_s[0, 0])

    assert launch_s((old,)) == pytest.approx(3.0 * launch_s((replace(old, launch=1.0),)))


def test_eager_software_on_a_tpu_is_told_what_runs_there(calibration: Calibration) -> None:
    tpu = System(device=load_device("tpu-v4"))
    told = {
        name: assumptions_of(tpu, Software(framework=name), POLICIES.get("bf16"), calibration)[0].why
        for name in ("pytorch", "xla-tpu")
    }
    assert "--framework xla-tpu --mode compiled --layout channels_last" in told["pytorch"]
    assert "--framework" not in told["xla-tpu"]


def test_a_misspelt_framework_is_told_what_is_near_it(calibration: Calibration) -> None:
    system = System(device=load_device("rtx-4090"))
    why = {
        name: assumptions_of(system, Software(framework=name), POLICIES.get("fp32"), calibration)[0].why
        for name in ("tensorfow", "tensorflow", "mine")
    }
    assert "did you mean 'tensorflow'?" in why["tensorfow"]
    assert not any("did you mean" in why[name] for name in ("tensorflow", "mine"))
