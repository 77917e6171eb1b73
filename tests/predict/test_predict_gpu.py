from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from estimator.errors import InputError
from estimator.hardware.device import derive_peaks
from estimator.hardware.efficiency import Scale
from estimator.precision import DType
from estimator.predict.fleet import Fleet
from estimator.predict.gpu import combine, gpu_times
from estimator.predict.paths import path_of, product_path
from estimator.predict.products import tile_flops
from estimator.predict.table import Category, table_of
from estimator.software import CURRENT_ERA, Layout, Software
from estimator.workload.kernel import ConvShape, GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration


def gemm(m: int, n: int, k: int, dtype: DType = DType.FP32) -> Kernel:
    shape = GemmShape(1, m, n, k)
    size = dtype.itemsize
    return Kernel(
        name="linear", op=Op.GEMM, phase=Phase.FORWARD, compute=dtype, flops=shape.flops,
        bytes_read=size * (m * k + k * n), bytes_written=size * m * n, shape=shape,
    )  # fmt: skip


def add(count: int) -> Kernel:
    return Kernel(
        name="add", op=Op.ELEMENTWISE, phase=Phase.FORWARD, compute=DType.FP32, bytes_read=8 * count,
        bytes_written=4 * count, elementwise_flops=count, elements=count,
    )  # fmt: skip


def conv(groups: int = 1, size: int = 3, c: int = 256) -> Kernel:
    shape = ConvShape(64, c, c, groups, (28, 28), (28, 28), (size, size), (1, 1), (1, 1))
    op = Op.CONV if groups == 1 else Op.DEPTHWISE if groups == c else Op.GROUPED
    half = 2 * 64 * c * 784
    return Kernel(
        name="conv2d", op=op, phase=Phase.FORWARD, compute=DType.FP16, flops=shape.flops, bytes_read=half,
        bytes_written=half, shape=shape,
    )  # fmt: skip


def seconds(
    kernel: Kernel, device: Device, calibration: Calibration, software: Software | None = None
) -> float:
    fleet = Fleet((device,), software or Software(), calibration)
    return float(gpu_times(table_of([kernel]), fleet).total_s[0, 0])


def worked(kernel: Kernel, device: Device, calibration: Calibration) -> float:
    """Return the seconds beside the launch."""
    times = gpu_times(table_of([kernel]), Fleet((device,), Software(), calibration))
    return float(times.busy_s[0, 0])


def test_a_large_product_runs_near_the_peak_and_a_skinny_one_near_the_bandwidth(
    v100: Device, calibration: Calibration
) -> None:
    large = gemm(8192, 8192, 8192)
    assert 0.6 < large.flops / 15.7e12 / seconds(large, v100, calibration) < 1.0
    skinny = gemm(1, 8192, 8192)
    assert 0.5 < skinny.bytes / 900e9 / seconds(skinny, v100, calibration) < 1.0


def test_half_precision_uses_tensor_cores_only_where_they_are(
    v100: Device, pascal: Device, calibration: Calibration
) -> None:
    fast = seconds(gemm(4096, 4096, 4096), v100, calibration)
    assert seconds(gemm(4096, 4096, 4096, DType.FP16), v100, calibration) < fast / 4
    slow = seconds(gemm(4096, 4096, 4096), pascal, calibration)
    assert seconds(gemm(4096, 4096, 4096, DType.FP16), pascal, calibration) == pytest.approx(slow, rel=0.05)


@pytest.mark.parametrize("rate", [32, 256])
def test_allowing_tf32_slows_no_product_down(v100: Device, calibration: Calibration, rate: int) -> None:
    """Where tensor cores multiply TF32 no faster than the lanes fp32, libraries take the lanes."""
    architecture = replace(
        v100.architecture, matrix={DType.TF32: rate, DType.FP16: 512}, integers_share_lanes=True
    )
    device = replace(
        v100, architecture=architecture, peaks=derive_peaks(architecture, v100.units, v100.clock_hz)
    )
    plain, allowed = (
        seconds(gemm(4096, 4096, 4096, d), device, calibration) for d in (DType.FP32, DType.TF32)
    )
    assert allowed <= plain
    assert (allowed < 0.6 * plain) == (rate == 256)


def test_a_format_no_unit_has_is_an_error_that_names_those_it_has(v100: Device) -> None:
    with pytest.raises(InputError, match="no fp8 arithmetic; it has bf16, fp16, fp32"):
        product_path(v100, DType.FP8)


def test_an_unknown_bandwidth_is_an_error(v100: Device, calibration: Calibration) -> None:
    with pytest.raises(InputError, match="bandwidth"):
        Fleet((replace(v100, bandwidth_bytes_per_s=None),), Software(), calibration)


def test_a_board_short_of_power_multiplies_slower_but_adds_as_fast(
    pascal: Device, small_board: Device, calibration: Calibration
) -> None:
    product = gemm(4096, 4096, 4096)
    assert seconds(product, small_board, calibration) > 1.5 * seconds(product, pascal, calibration)
    plain = add(1 << 24)
    assert seconds(plain, small_board, calibration) == pytest.approx(seconds(plain, pascal, calibration))


def test_a_library_can_be_good_at_one_direction_of_a_class_only(
    pascal: Device, calibration: Calibration
) -> None:
    said = replace(
        calibration, architectures={pascal.architecture.id: Scale(kinds={"conv": 2.0, "conv@backward": 0.5})}
    )
    forward = replace(conv(), compute=DType.FP32)
    for phase, factor in (
        (Phase.FORWARD, 2.0),
        (Phase.RECOMPUTE, 2.0),
        (Phase.DGRAD, 0.5),
        (Phase.WGRAD, 0.5),
    ):
        kernel = replace(forward, phase=phase)
        assert worked(kernel, pascal, calibration) / worked(kernel, pascal, said) == pytest.approx(factor)


def test_products_in_fp64_have_a_scale_and_library_speeds_of_their_own(
    v100: Device, calibration: Calibration
) -> None:
    architecture = replace(v100.architecture, vector=dict(v100.architecture.vector) | {DType.FP64: 32})
    peaks = derive_peaks(architecture, v100.units, v100.clock_hz)
    device = replace(v100, architecture=architecture, peaks=peaks)
    scale = Scale(double=0.5, kinds={"gemm": 4.0, "gemm/fp64": 0.5})
    said = replace(calibration, architectures={architecture.id: scale})
    for dtype, slower in ((DType.FP64, 4.0), (DType.FP32, 0.25)):
        kernel = gemm(8192, 8192, 8192, dtype)
        assert worked(kernel, device, said) / worked(kernel, device, calibration) == pytest.approx(
            slower, rel=0.01
        )


def test_a_library_may_be_slow_in_half_precision_alone(v100: Device, calibration: Calibration) -> None:
    said = replace(calibration, architectures={v100.architecture.id: Scale(kinds={"conv/half": 0.25})})
    half = conv()
    assert worked(half, v100, said) / worked(half, v100, calibration) == pytest.approx(4.0, rel=0.01)
    single = replace(half, compute=DType.FP32)
    assert worked(single, v100, said) == worked(single, v100, calibration)


def test_products_whose_rows_are_no_whole_loads_are_slower_in_half_precision(
    v100: Device, calibration: Calibration
) -> None:
    """Rows of 4,097 halves; in fp32 they are as fast, and few columns more do not matter."""
    v100 = replace(v100, vendor="nvidia")
    whole, odd = (gemm(4096, n, 4096, DType.FP16) for n in (4096, 4097))
    assert seconds(odd, v100, calibration) > 1.15 * seconds(whole, v100, calibration)
    single = [seconds(gemm(4096, n, 4096), v100, calibration) for n in (4096, 4097)]
    assert single[1] < 1.1 * single[0]


def test_before_cuda_11_such_products_ran_on_vector_units_of_older_devices(v100: Device) -> None:
    v100 = replace(v100, vendor="nvidia")
    ampere = replace(v100, architecture=replace(v100.architecture, year=2020))
    odd = Category("gemm.unaligned", DType.FP16, Phase.FORWARD)
    assert path_of(v100, odd, 2020).name == "vector"
    assert path_of(v100, odd, 2021).name == "matrix"
    assert path_of(v100, odd._replace(kind="gemm.linear"), 2020).name == "matrix"
    assert path_of(ampere, odd, 2020).name == "matrix"  # older libraries do not know it


def test_dilated_convolutions_of_a_row_run_on_vector_units_in_half_precision(
    v100: Device, pascal: Device
) -> None:
    vector = dict(v100.architecture.vector) | {DType.FP16: 128}
    architecture = replace(v100.architecture, vector=vector)
    v100 = replace(v100, peaks=derive_peaks(architecture, v100.units, v100.clock_hz))
    kind, plain = (Category(name, DType.FP16, Phase.FORWARD) for name in ("conv.dilated", "conv"))
    path = path_of(v100, kind, CURRENT_ERA)
    assert (path.name, path.peak) == ("half", v100.peaks.vector[DType.FP16])
    assert path_of(v100, plain, CURRENT_ERA).name == "matrix"
    in_single = path_of(pascal, kind, CURRENT_ERA)  # as half is counted there
    assert in_single.peak == pascal.peaks.vector[DType.FP32]
    assert path_of(v100, kind._replace(dtype=DType.FP32), CURRENT_ERA).name == "vector"


def test_a_tiny_kernel_costs_its_launch(v100: Device, calibration: Calibration) -> None:
    assert 2e-6 < seconds(add(10), v100, calibration) < 10e-6


def test_a_serial_kernel_gains_nothing_from_a_larger_gpu(
    v100: Device, pascal: Device, calibration: Calibration
) -> None:
    serial = Kernel(
        name="scan", op=Op.SERIAL, phase=Phase.FORWARD, compute=DType.FP32, elementwise_flops=10**9
    )
    assert seconds(serial, v100, calibration) == pytest.approx(seconds(serial, pascal, calibration))
    assert seconds(serial, v100, calibration) > 0.1


def test_grouped_convolutions_fall_off_a_cliff_in_channels_last(
    v100: Device, calibration: Calibration
) -> None:
    last = Software(layout=Layout.CHANNELS_LAST)
    fast, slow = conv(groups=16), conv(groups=4)  # widths 16 and 64
    assert seconds(slow, v100, calibration, last) > 2 * seconds(fast, v100, calibration, last)
    fast, slow = (replace(kernel, phase=Phase.DGRAD) for kernel in (fast, slow))
    assert seconds(slow, v100, calibration, last) > 10 * seconds(fast, v100, calibration, last)
    assert seconds(slow, v100, calibration) < seconds(slow, v100, calibration, last) / 5
    large = seconds(conv(groups=256, size=9), v100, calibration, last)
    assert large > 5 * seconds(conv(groups=256), v100, calibration, last)


def test_times_of_a_fleet_are_those_of_its_devices(
    v100: Device, pascal: Device, calibration: Calibration
) -> None:
    kernels = [gemm(1000, 1000, 1000), add(12345), conv(), conv(groups=4)]
    both = gpu_times(table_of(kernels), Fleet((v100, pascal), Software(), calibration)).total_s
    for i, kernel in enumerate(kernels):
        assert both[i, 0] == pytest.approx(seconds(kernel, v100, calibration))
        assert both[i, 1] == pytest.approx(seconds(kernel, pascal, calibration))


def test_a_product_never_takes_less_than_its_flops_and_waves_round_up() -> None:
    def work(m: int, n: int, k: int, units: int) -> float:
        batch, rows, columns, depth = (np.array([float(side)]) for side in (1, m, n, k))
        return float(tile_flops(batch, rows, columns, depth, np.array([float(units)]), matrix=True)[0, 0])

    assert work(8192, 8192, 1024, 80) == pytest.approx(2 * 8192 * 8192 * 1024, rel=0.06)
    exact, one_more = work(128 * 8, 256 * 10, 1024, 80), work(128 * 8 + 1, 256 * 10, 1024, 80)
    assert one_more > 1.05 * exact
    assert work(64, 64, 64 * 1024, 80) < 80 * work(64, 64, 64 * 1024, 1) / 20  # split along k


def test_combine_lies_between_the_larger_term_and_the_sum() -> None:
    one, two = np.array([[3.0]]), np.array([[4.0]])
    assert combine(one, two, np.array([[1.0]]))[0, 0] == 7.0
    assert combine(one, two, np.array([[2.0]]))[0, 0] == 5.0
    assert 4.0 < combine(one, two, np.array([[4.0]]))[0, 0] < 5.0
