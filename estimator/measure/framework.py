"""PyTorch as an optional package: importing it, and the device a measurement runs on."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from estimator.errors import MeasurementError, MissingPackageError

Torch: TypeAlias = Any  # torch is an optional package
# The profiler's library writes to stderr when it starts and stops.
_QUIET = {"KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def import_torch() -> Torch:
    """Return the torch package, or raise MissingPackageError."""
    for name, level in _QUIET.items():
        os.environ.setdefault(name, level)
    try:
        import torch
    except ImportError:
        raise MissingPackageError(
            "measuring a training step needs PyTorch", hint="pip install 'estimator[torch]'"
        ) from None
    return torch


def has_torch() -> bool:
    """Tell whether PyTorch is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("torch") is not None


def check_device(name: str) -> Torch:
    """Return the torch device of that name; raises MeasurementError unless it is there and works."""
    torch = import_torch()
    try:
        device = torch.device(name)
    except RuntimeError:
        raise MeasurementError(
            f"--device: PyTorch knows no device {name!r}", hint="cpu, cuda:0, mps"
        ) from None
    reason = _why_not(torch, device)
    if reason is not None:
        raise MeasurementError(f"--device {name}: {reason}", hint="see estimator detect; cpu always works")
    return device


def _why_not(torch: Torch, device: Torch) -> str | None:
    if device.type == "cpu":
        return None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            built = torch.version.cuda or torch.version.hip
            return "PyTorch sees no GPU" if built else "this PyTorch is built for CPUs only"
        count = torch.cuda.device_count()
        index = device.index or 0
        return None if index < count else f"there are {count} GPUs, counted from 0"
    if device.type == "mps":
        return None if torch.backends.mps.is_available() else "PyTorch sees no Apple GPU"
    return "only cpu, cuda and mps can be measured"


def versions(device: Torch) -> dict[str, str]:
    """Return the software a measurement ran on, by name."""
    torch = import_torch()
    found = {"torch": str(torch.__version__)}
    if device.type == "cuda":
        found["cuda"] = str(torch.version.cuda or torch.version.hip)
        found["cudnn"] = str(torch.backends.cudnn.version())
    else:
        found["threads"] = str(torch.get_num_threads())
        found["instructions"] = str(torch.backends.cpu.get_cpu_capability())
    return found
