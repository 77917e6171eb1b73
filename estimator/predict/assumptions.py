"""What a prediction takes for granted, said with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.errors import suggestion
from estimator.hardware.architecture import DeviceKind
from estimator.precision import DType
from estimator.predict.factors import software_factors
from estimator.predict.fleet import sustained_share
from estimator.predict.paths import product_path
from estimator.provenance import Assumption

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.precision import PrecisionPolicy
    from estimator.software import Software

_TPU_FRAMEWORK = "xla-tpu"
_REDUCED = frozenset({DType.TF32, DType.FP16, DType.BF16})


def assumptions_of(
    system: System, software: Software, policy: PrecisionPolicy, calibration: Calibration
) -> tuple[Assumption, ...]:
    """Return what the prediction of a step assumes."""
    device = system.device
    found = [_software(software, device, calibration)]
    if device.kind is DeviceKind.GPU:
        found += _gpu(device, policy, calibration)
    elif not device.bandwidth_bytes_per_s:
        draw = calibration.cpu.core_bytes_per_clock * device.clock_hz / 1e9
        found.append(
            Assumption(
                what="memory bandwidth",
                value=f"{draw:.3g} GB/s a core",
                why=f"the bandwidth of {device.name} is not known; a core draws about this much",
            )
        )
    if system.count > 1:
        found.append(
            Assumption(
                what="overlap",
                value=f"{1 - calibration.exposure:.0%} of the exchange is hidden behind the backward pass",
                why="fits public scaling tables best",
            )
        )
    return tuple(found)


def _software(software: Software, device: Device, calibration: Calibration) -> Assumption:
    factors = software_factors(calibration, software)
    why = "the default; other software runs other kernels"
    if device.architecture.unit_name == "MXU" and software.framework != _TPU_FRAMEWORK:
        why = (
            "but XLA compiles whole steps for a TPU: say "
            f"--framework {_TPU_FRAMEWORK} --mode compiled --layout channels_last"
        )
    if factors.framework not in {software.framework, "pytorch"}:
        why = f"nothing is measured for {software.framework}: factors of {factors.framework} frameworks"
        if near := suggestion(software.framework, {each.framework for each in calibration.software}):
            why += f"; {near}"
    layout = software.layout.replace("_", " ")
    return Assumption(
        what="software", value=f"{software.framework} of {software.era}, {software.mode}, {layout}", why=why
    )


def _gpu(device: Device, policy: PrecisionPolicy, calibration: Calibration) -> list[Assumption]:
    found = []
    share = sustained_share(device, calibration)
    if share < 1:
        found.append(
            Assumption(
                what="sustained clock",
                value=f"{share:.0%} of peak",
                why=f"a board of {device.power_limit_w:g} W cannot keep its boost clock in long products",
            )
        )
    path = product_path(device, policy.product)
    if path.name == "vector" and policy.product in _REDUCED:
        found.append(
            Assumption(
                what="arithmetic",
                value="no tensor cores",
                why=f"{device.name} has none for {policy.product}: at most {path.peak / 1e12:.3g} TFLOP/s",
            )
        )
    return found
