"""The use case of ``estimator plot roofline``: a network's layers under a device's ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.app.prediction import lowered
from estimator.errors import InputError
from estimator.precision import DType
from estimator.results.roofline import Ceiling, RooflinePoint, RooflineResult
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.hardware.device import Device
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.results.prediction import LayerSummary, Prediction
    from estimator.workload.workload import LayerWork

_PASSES = (Phase.FORWARD, Phase.DGRAD, Phase.WGRAD, Phase.RECOMPUTE)


def roofline_result(
    network: Network,
    training: Training,
    device: Device,
    prediction: Prediction,
    inputs: Mapping[str, object],
) -> RooflineResult:
    """Return the layers of a prediction for ``device`` under its ceilings.

    Raises InputError where bandwidth or peak of the device are not known: there is no roof then.
    """
    bandwidth = device.bandwidth_bytes_per_s
    ceilings = _ceilings(device, training.precision.product)
    if bandwidth is None or not ceilings:
        missing = "bandwidth" if bandwidth is None else f"peak in {training.precision.product}"
        raise InputError(
            f"no roofline for {device.name}: its {missing} is not known",
            hint="see estimator devices show, or name another device with --device",
        )
    workload = lowered(network, training, device.kind).workload
    found = [
        _point(work, time, workload.repeats, prediction.step.time_s.expected)
        for work, time in zip(workload.layers, prediction.layers, strict=True)
    ]
    points = tuple(point for point in found if point is not None)
    return RooflineResult(
        inputs=inputs,
        network=network.name,
        device=prediction.device,
        precision=training.precision.name,
        batch=training.batch,
        bandwidth_bytes_per_s=bandwidth,
        ceilings=ceilings,
        points=points,
        left_out=len(found) - len(points),
        range_basis=prediction.step.time_s.basis,
        assumptions=prediction.assumptions,
    )


def _ceilings(device: Device, product: DType) -> tuple[Ceiling, ...]:
    """Return the peaks that matter: of the products' format, and fp32 of the vector units; highest first."""
    rates = {
        (product, "matrix"): device.peaks.matrix.get(product),
        (product, "vector"): device.peaks.vector.get(product),
        (DType.FP32, "vector"): device.peaks.vector.get(DType.FP32),
    }
    bandwidth = device.bandwidth_bytes_per_s or float("nan")
    found = [
        Ceiling(precision=dtype.value, unit=unit, flop_per_s=rate, ridge_point_flop_per_byte=rate / bandwidth)
        for (dtype, unit), rate in rates.items()
        if rate
    ]
    return tuple(sorted(found, key=lambda ceiling: -ceiling.flop_per_s))


def _point(work: LayerWork, time: LayerSummary, repeats: int, step_s: float) -> RooflinePoint | None:
    kernels = [kernel for kernel in work.kernels if kernel.phase in _PASSES]
    products = sum(kernel.flops for kernel in kernels) * repeats
    flops = products + sum(kernel.elementwise_flops for kernel in kernels) * repeats
    traffic = sum(kernel.bytes for kernel in kernels) * repeats
    seconds = time.forward_s + time.backward_s
    if not (flops and traffic and seconds):
        return None
    return RooflinePoint(
        path=work.path,
        type=work.kind,
        products=products > 0,
        flops=flops,
        bytes=traffic,
        intensity_flop_per_byte=flops / traffic,
        attained_flop_per_s=flops / seconds,
        time_s=seconds,
        share=seconds / step_s,
        bound=time.bound,
    )
