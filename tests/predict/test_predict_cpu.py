from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from estimator.hardware.device import derive_peaks
from estimator.precision import DType
from estimator.predict.cpu import cpu_peak, cpu_times
from estimator.predict.table import table_of
from estimator.software import Layout, Software
from estimator.workload.kernel import ConvShape, GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration


def seconds(
    kernel: Kernel, device: Device, calibration: Calibration, software: Software | None = None
) -> float:
    times = cpu_times(table_of([kernel]), (device,), software or Software(), calibration)
    return float(times.total_s[0, 0])


def elementwise(name: str, count: int) -> Kernel:
    return Kernel(
        name=name, op=Op.ELEMENTWISE, phase=Phase.FORWARD, compute=DType.FP32, bytes_read=4 * count,
        bytes_written=4 * count, elements=count,
    )  # fmt: skip


def conv() -> Kernel:
    shape = ConvShape(32, 64, 64, 1, (56, 56), (56, 56), (3, 3), (1, 1), (1, 1))
    size = 4 * 32 * 64 * 56 * 56
    return Kernel(
        name="conv2d", op=Op.CONV, phase=Phase.FORWARD, compute=DType.FP32, flops=shape.flops,
        bytes_read=size + 4 * 9 * 4096, bytes_written=size, weight_bytes=4 * 9 * 4096, shape=shape,
    )  # fmt: skip


def gemm(m: int, n: int, k: int) -> Kernel:
    return Kernel(
        name="linear", op=Op.GEMM, phase=Phase.FORWARD, compute=DType.FP32, flops=2 * m * n * k,
        bytes_read=4 * (m * k + n * k), bytes_written=4 * m * n, shape=GemmShape(1, m, n, k),
    )  # fmt: skip


def test_a_convolution_pays_for_reordering_in_channels_first(
    desktop_cpu: Device, calibration: Calibration
) -> None:
    ideal = conv().flops / 845e9
    first = seconds(conv(), desktop_cpu, calibration)
    last = seconds(conv(), desktop_cpu, calibration, Software(layout=Layout.CHANNELS_LAST))
    assert ideal < last < first < 4 * ideal


def test_dropout_draws_its_mask_on_one_core(desktop_cpu: Device, calibration: Calibration) -> None:
    count = 1 << 20
    assert seconds(elementwise("dropout", count), desktop_cpu, calibration) > 8 * seconds(
        elementwise("relu", count), desktop_cpu, calibration
    )


def test_large_outputs_fault_in_pytorch_and_not_where_memory_is_pooled(
    desktop_cpu: Device, calibration: Calibration
) -> None:
    large = elementwise("relu", 16 << 20)  # 64 MiB
    pooled = Software(framework="paddle", era=2018)
    extra = seconds(large, desktop_cpu, calibration) - seconds(large, desktop_cpu, calibration, pooled)
    assert extra == pytest.approx(16384 * calibration.cpu.fault_s / 8**0.5, rel=0.01)


def test_what_is_written_over_its_input_needs_no_new_pages(
    desktop_cpu: Device, calibration: Calibration
) -> None:
    count = 1 << 24
    anew, over = (seconds(elementwise(name, count), desktop_cpu, calibration) for name in ("relu", "relu_"))
    pages = 4 * count / 4096
    assert anew - over == pytest.approx(pages * calibration.cpu.fault_s / desktop_cpu.units**0.5)


def test_few_cores_draw_less_than_the_memory_gives(desktop_cpu: Device, calibration: Calibration) -> None:
    plain = elementwise("relu", 4 << 20)
    one, two, eight = (seconds(plain, replace(desktop_cpu, units=units), calibration) for units in (1, 2, 8))
    assert one / two == pytest.approx(2, rel=0.05)
    assert 1.2 < two / eight < 3.5
    assert 0.5 < plain.bytes / 68e9 / eight < 0.9
    unknown = replace(desktop_cpu, bandwidth_bytes_per_s=None)
    assert seconds(plain, unknown, calibration) < eight
    half = replace(unknown, units=0.5)
    assert seconds(plain, half, calibration) == pytest.approx(2 * one, rel=0.05)


def test_more_cores_do_not_help_short_loops(desktop_cpu: Device, calibration: Calibration) -> None:
    """ATen keeps a loop over 32,768 elements on one core, and cores that share one wait for each other."""
    many = replace(desktop_cpu, units=64)
    one = replace(desktop_cpu, units=1)
    short, long = elementwise("relu", 32768), elementwise("relu", 32 * 32768)
    assert seconds(short, many, calibration) == pytest.approx(seconds(short, one, calibration), rel=0.01)
    assert seconds(long, many, calibration) < seconds(long, one, calibration) / 3
    free = replace(calibration, cpu=replace(calibration.cpu, barrier_s=0.0))
    waits = [
        seconds(long, replace(desktop_cpu, units=units), calibration)
        - seconds(long, replace(desktop_cpu, units=units), free)
        for units in (1, 4, 16)
    ]
    assert waits[0] == pytest.approx(0.0, abs=1e-12)
    assert waits[2] == pytest.approx(2 * waits[1])
    assert waits[1] > 0


def test_small_products_stay_on_one_core(desktop_cpu: Device, calibration: Calibration) -> None:
    """A library of matrix products shares out what is worth it: at least 2^18 multiply-adds a core."""
    many, one = (
        replace(desktop_cpu, units=units, peaks=derive_peaks(desktop_cpu.architecture, units, 3.3e9))
        for units in (64, 1)
    )
    small, large = gemm(64, 64, 64), gemm(1024, 1024, 1024)
    assert seconds(small, many, calibration) == pytest.approx(seconds(small, one, calibration), rel=0.01)
    assert seconds(large, many, calibration) < seconds(large, one, calibration) / 10


def test_mkl_multiplies_with_avx2_on_amd(desktop_cpu: Device, calibration: Calibration) -> None:
    """MKL has AVX-512 kernels for Intel's CPUs alone; oneDNN, which convolves, has them for all."""
    architecture = replace(desktop_cpu.architecture, lanes_per_unit=32, vector={DType.FP32: 32})
    intel = replace(desktop_cpu, architecture=architecture, peaks=derive_peaks(architecture, 8, 3.3e9))
    amd = replace(intel, vendor="AMD")
    product = gemm(2048, 2048, 2048)
    assert seconds(product, amd, calibration) > 1.6 * seconds(product, intel, calibration)
    assert seconds(conv(), amd, calibration) == pytest.approx(seconds(conv(), intel, calibration))
    eigen = Software(framework="tensorflow")
    assert seconds(product, amd, calibration, eigen) == pytest.approx(
        seconds(product, intel, calibration, eigen)
    )


def test_a_build_for_old_instructions_multiplies_slower(
    desktop_cpu: Device, calibration: Calibration
) -> None:
    """TensorFlow's wheels of 2017 know SSE alone: 8 fp32 FLOPs a clock where AVX2 does 32."""
    by_wheel = seconds(conv(), desktop_cpu, calibration, Software(framework="tensorflow", era=2017))
    native = seconds(conv(), desktop_cpu, calibration, Software(framework="tensorflow-native", era=2017))
    assert 1.5 * native < by_wheel < 4 * native


def test_formats_a_cpu_lacks_run_at_the_rate_of_fp32(desktop_cpu: Device) -> None:
    assert cpu_peak(desktop_cpu, DType.BF16) == cpu_peak(desktop_cpu, DType.FP32)


def test_a_small_product_costs_its_overhead(desktop_cpu: Device, calibration: Calibration) -> None:
    shape = GemmShape(1, 8, 8, 8)
    kernel = Kernel(
        name="linear", op=Op.GEMM, phase=Phase.FORWARD, compute=DType.FP32, flops=shape.flops, bytes_read=512,
        bytes_written=256, shape=shape,
    )  # fmt: skip
    assert 5e-6 < seconds(kernel, desktop_cpu, calibration) < 50e-6
