from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from estimator.calibrate.cpu_entries import CpuEntries
from estimator.calibrate.design import Design, Entries
from estimator.calibrate.fit import devices_with_scales, fit
from estimator.calibrate.gpu_entries import GpuEntries
from estimator.calibrate.observation import Observation
from estimator.calibrate.parameters import Parameters
from estimator.catalog.calibration import load_prior
from estimator.errors import InputError
from estimator.hardware.architecture import Architecture, DeviceKind
from estimator.hardware.device import Device, derive_peaks
from estimator.hardware.efficiency import Scale
from estimator.precision import DType
from estimator.predict.coefficients import coefficients_to_mapping
from estimator.predict.sweep import Sweep
from estimator.predict.table import table_of
from estimator.software import Layout, Software
from estimator.workload.kernel import ConvShape, GemmShape, Kernel, Op, Phase

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration

START = load_prior()


def device(name: str, kind: DeviceKind, *, units: int = 40, bandwidth: float = 500e9) -> Device:
    architecture = Architecture(
        id=f"{name}-arch", name=name, vendor="NVIDIA", kind=kind, unit_name="SM", lanes_per_unit=64,
        vector={DType.FP32: 64, DType.FP64: 2}, matrix={DType.FP16: 512} if kind is DeviceKind.GPU else {},
    )  # fmt: skip
    return Device(
        id=name, name=name, vendor="NVIDIA", kind=kind, architecture=architecture, units=units,
        clock_hz=1.5e9, peaks=derive_peaks(architecture, units, 1.5e9), bandwidth_bytes_per_s=bandwidth,
        power_limit_w=70.0, cache_bytes={"l2": 1 << 22},
    )  # fmt: skip


def kernels(batch: int, dtype: DType) -> list[Kernel]:
    shape = ConvShape(batch, 64, 64, 1, (28, 28), (28, 28), (3, 3), (1, 1), (1, 1))
    size = dtype.itemsize * batch * 64 * 784
    product = GemmShape(1, batch, 1000, 2048)
    found = []
    for phase in (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD):
        found += [
            Kernel(name="conv2d", op=Op.CONV, phase=phase, compute=dtype, flops=shape.flops, bytes_read=size,
                   bytes_written=size, weight_bytes=1000, shape=shape),
            Kernel(name="linear", op=Op.GEMM, phase=phase, compute=dtype, flops=product.flops,
                   bytes_read=batch * 8192, bytes_written=batch * 4000, shape=product),
            Kernel(name="batch_norm", op=Op.BATCH_NORM, phase=phase, compute=DType.FP32, bytes_read=2 * size,
                   bytes_written=size, elements=size // 4),
            Kernel(name="gelu", op=Op.ELEMENTWISE, phase=phase, compute=DType.FP32, bytes_read=size,
                   bytes_written=size, elements=size // 4, launches=2),
        ]  # fmt: skip
    found.append(Kernel(name="scan", op=Op.SERIAL, phase=Phase.FORWARD, compute=DType.FP32, flops=10**5))
    found.append(
        Kernel(name="lstm", op=Op.RECURRENT, phase=Phase.FORWARD, compute=dtype, flops=10**9, serial_steps=50)
    )
    return found


def observations(truth: Calibration) -> list[Observation]:
    """Return steps of four networks on three devices, timed by the predictor itself under ``truth``."""
    made = []
    devices = (
        device("one", DeviceKind.GPU),
        device("two", DeviceKind.GPU, units=80, bandwidth=900e9),
        device("cpu", DeviceKind.CPU, units=8, bandwidth=60e9),
    )
    for device_ in devices:
        for batch in (4, 16, 64, 256):
            for software in (Software(), Software(framework="caffe", era=2014, layout=Layout.CHANNELS_LAST)):
                dtype = {64: DType.FP16, 256: DType.FP64}.get(batch, DType.FP32)
                table = table_of(kernels(batch, dtype))
                seconds = float(Sweep((device_,), software, truth).step_s(table)[0])
                made.append(
                    Observation(
                        table=table,
                        device=device_,
                        software=software,
                        seconds=seconds,
                        network=f"net{batch}",
                        source="test",
                    )
                )
    return made


def design(rows: list[Observation], start: Calibration = START) -> tuple[Design, Parameters]:
    parameters, entries = Parameters(), Entries()
    kinds = {
        DeviceKind.GPU: GpuEntries(start, parameters, entries, {"one"}),
        DeviceKind.CPU: CpuEntries(start, parameters, entries, set()),
    }
    hosts = [kinds[row.device.kind].add(i, row) for i, row in enumerate(rows)]  # type: ignore[attr-defined]
    launches, host, waiting = (np.array(column) for column in zip(*hosts, strict=True))
    flat = Design(
        entries,
        len(rows),
        len(parameters.keys),
        launches=launches,
        host=host.astype(np.intp),
        waiting=waiting,
    )
    return flat, parameters


def test_the_flat_problem_gives_the_predictors_own_times() -> None:
    rows = observations(START)
    flat, parameters = design(rows)
    predicted, _ = flat.log_seconds(np.array(parameters.start))
    np.testing.assert_allclose(np.exp(predicted), [row.seconds for row in rows], rtol=1e-9)


def test_the_flat_problem_knows_what_libraries_do_to_the_passes_of_a_class() -> None:
    start = replace(
        START,
        vendors=dict(START.vendors)
        | {"nvidia": Scale(double=0.7, kinds={"conv@backward": 0.5, "gemm": 0.9})},
        architectures={"one-arch": Scale(kinds={"conv": 1.4, "conv/fp64": 0.6})},
    )
    rows = observations(start)
    flat, parameters = design(rows, start)
    predicted, _ = flat.log_seconds(np.array(parameters.start))
    np.testing.assert_allclose(np.exp(predicted), [row.seconds for row in rows], rtol=1e-9)
    found = {(key.part, key.entry) for key in parameters.keys if key.part.endswith("_kinds")}
    assert found == {
        ("vendors_kinds", "nvidia/conv@backward"), ("vendors_kinds", "nvidia/gemm"),
        ("architectures_kinds", "one-arch/conv"), ("architectures_kinds", "one-arch/conv/fp64"),
    }  # fmt: skip
    # Nothing tells them apart from what they start at, so a fit leaves them there.
    fitted = fit(rows, start).calibration
    assert fitted.vendors["nvidia"].kinds == pytest.approx(start.vendors["nvidia"].kinds, rel=0.02)
    assert fitted.architectures["one-arch"].kinds["conv/fp64"] == pytest.approx(0.6, rel=0.02)


def test_its_derivatives_are_those_of_finite_differences() -> None:
    flat, parameters = design(observations(START))
    start = np.array(parameters.start)
    _, jacobian = flat.log_seconds(start)
    for index in range(len(start)):
        step = np.zeros_like(start)
        step[index] = 1e-6
        slope = (flat.log_seconds(start + step)[0] - flat.log_seconds(start - step)[0]) / 2e-6
        np.testing.assert_allclose(jacobian[:, index], slope, atol=2e-5, err_msg=str(parameters.keys[index]))


def test_a_fit_explains_what_its_start_does_not() -> None:
    slower = replace(
        START,
        gpu=replace(
            START.gpu,
            regimes=dict(START.gpu.regimes)
            | {"batch_norm": replace(START.gpu.regimes["batch_norm"], memory=0.2)},
        ),
    )
    rows = observations(slower)
    unfitted = np.log([a.seconds / b.seconds for a, b in zip(rows, observations(START), strict=True)])
    found = fit(rows * 20, START)
    assert np.abs(unfitted).max() > 0.15
    assert np.abs(found.residuals).max() < 0.05
    assert found.calibration.devices["one"].rows == 160


def test_a_fit_is_the_same_byte_for_byte() -> None:
    rows = observations(START)[::-1]
    one, two = (json.dumps(coefficients_to_mapping(fit(rows, START).calibration)) for _ in range(2))
    assert one == two


def test_a_fit_of_perfect_rows_changes_nothing_much() -> None:
    found = fit(observations(START), START).calibration
    for key, regime in START.gpu.regimes.items():
        assert found.gpu.regimes[key].compute == pytest.approx(regime.compute, rel=0.01)


def test_two_scales_are_never_fitted_to_one_network() -> None:
    rows = observations(START)
    assert devices_with_scales(rows) == frozenset()
    assert devices_with_scales(rows * 2) == {"one", "two", "cpu"}
    alone = [row for row in rows * 8 if row.network == "net4"]
    assert devices_with_scales(alone) == frozenset()


def test_nothing_measured_is_an_error() -> None:
    with pytest.raises(InputError, match="no measurement"):
        fit([], START)
