"""Devices and kernels the predictor's tests are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.calibration import load_prior
from estimator.hardware.architecture import Architecture, DeviceKind
from estimator.hardware.device import Device, derive_peaks
from estimator.precision import DType

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration


def _gpu(name: str, units: int, clock_hz: float, bandwidth: float, **more: float | None) -> Device:
    matrix = more.get("matrix_fma") or 0.0
    architecture = Architecture(
        id=f"{name}-arch", name=name, vendor="NVIDIA", kind=DeviceKind.GPU, unit_name="SM", lanes_per_unit=64,
        year=2017,
        vector={DType.FP32: 64}, matrix={DType.FP16: matrix, DType.BF16: matrix} if matrix else {},
    )  # fmt: skip
    return Device(
        id=name, name=name, vendor="NVIDIA", kind=DeviceKind.GPU, architecture=architecture, units=units,
        clock_hz=clock_hz, peaks=derive_peaks(architecture, units, clock_hz), bandwidth_bytes_per_s=bandwidth,
        power_limit_w=more.get("power_w", 300.0), cache_bytes={"l2": 6 * 2**20},
    )  # fmt: skip


@pytest.fixture(scope="session")
def calibration() -> Calibration:
    return load_prior()


@pytest.fixture(scope="session")
def v100() -> Device:
    """80 SMs, 15.7 TFLOP/s fp32, 125 TFLOP/s fp16, 900 GB/s."""
    return _gpu("v100-test", 80, 1.53e9, 900e9, matrix_fma=512)


@pytest.fixture(scope="session")
def pascal() -> Device:
    """20 SMs of 64 lanes, no tensor cores."""
    return _gpu("pascal-test", 20, 1.6e9, 320e9)


@pytest.fixture(scope="session")
def small_board() -> Device:
    """As ``pascal``, on 40 W."""
    return _gpu("t4-test", 20, 1.6e9, 320e9, power_w=40.0)


@pytest.fixture(scope="session")
def desktop_cpu() -> Device:
    """8 cores of two 8-wide FMA pipes at 3.3 GHz: 845 GFLOP/s, 68 GB/s."""
    architecture = Architecture(
        id="haswell-test", name="Haswell", vendor="Intel", kind=DeviceKind.CPU, unit_name="core",
        lanes_per_unit=16, vector={DType.FP32: 16},
    )  # fmt: skip
    return Device(
        id="i7-test", name="i7", vendor="Intel", kind=DeviceKind.CPU, architecture=architecture, units=8,
        clock_hz=3.3e9, peaks=derive_peaks(architecture, 8, 3.3e9), bandwidth_bytes_per_s=68e9,
    )  # fmt: skip
