"""NVIDIA GPUs of a host, by NVML: those it lists, with their slices, or why it lists none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.detect import nvml as api
from estimator.detect.nvidia_gpu import read_gpu
from estimator.detect.nvidia_mig import mig_slices
from estimator.detect.nvml import ask, number_of, text_of

if TYPE_CHECKING:
    from estimator.detect.facts import GpuFacts, MemoryFacts
    from estimator.detect.ledger import Ledger
    from estimator.detect.nvml import Answer, NvmlLike

_MOST_GPUS, _MOST_CUDA_VERSION = 1024, 1_000_000
# What helps against an error, whichever call it comes from.
_REMEDIES = {
    api.DRIVER_NOT_LOADED: "load the kernel module: `modprobe nvidia`, or reinstall the driver",
    api.NO_PERMISSION: "give this user access to /dev/nvidia* (a group, or the container's --gpus)",
    api.FUNCTION_NOT_FOUND: "update NVIDIA's driver, or install an older nvidia-ml-py",
    api.VERSION_MISMATCH: "reboot: the driver was updated under a running kernel module",
}


def read_nvidia(nvml: NvmlLike, memory: MemoryFacts, ledger: Ledger) -> tuple[GpuFacts, ...]:
    """Return the GPUs NVML lists, a MIG-partitioned one followed by its slices; none is a finding."""
    started = ask(nvml, "nvmlInit")
    if not started.ok:
        _no_nvml(started, ledger)
        return ()
    driver = text_of(ask(nvml, "nvmlSystemGetDriverVersion"))
    runtime = _cuda_version(nvml)
    count = _count(nvml, ledger)
    gpus: list[GpuFacts] = []
    for index in range(count):
        handle = ask(nvml, "nvmlDeviceGetHandleByIndex", index)
        if not handle.ok:
            ledger.finding(
                f"NVIDIA GPU {index} cannot be read",
                handle.reason or "",
                _REMEDIES.get(handle.code or 0, "check `nvidia-smi` and the kernel log (Xid)"),
            )
            continue
        gpu = read_gpu(nvml, handle.value, index, memory=memory, driver=driver, runtime=runtime)
        gpus.append(gpu)
        if gpu.mig_enabled:
            gpus.extend(mig_slices(nvml, handle.value, gpu))
    ask(nvml, "nvmlShutdown")
    return tuple(gpus)


def _count(nvml: NvmlLike, ledger: Ledger) -> int:
    """Return how many GPUs the driver lists; none, and why it does not say, are findings."""
    answer = ask(nvml, "nvmlDeviceGetCount")
    count = number_of(answer, most=_MOST_GPUS)
    if not answer.ok:
        ledger.finding(
            "no NVIDIA GPU could be read",
            f"the driver does not say how many there are: {answer.reason}",
            _REMEDIES.get(answer.code or 0, "check `nvidia-smi` and the kernel log (Xid)"),
        )
    elif count is None:
        ledger.finding(
            "no NVIDIA GPU found",
            "the driver is there and lists none",
            "check `nvidia-smi -L` and the container's --gpus",
        )
    return count or 0


def _no_nvml(started: Answer, ledger: Ledger) -> None:
    remedies = {
        api.LIBRARY_NOT_FOUND: "nothing to do where there is no NVIDIA GPU; else install the driver",
        **_REMEDIES,
    }
    ledger.finding(
        "no NVIDIA GPU could be read",
        f"NVML does not start: {started.reason}",
        remedies.get(started.code or 0, "check that `nvidia-smi` works"),
    )


def _cuda_version(nvml: NvmlLike) -> str | None:
    """Return the newest CUDA the driver can run: 12040 is 12.4."""
    for call in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"):
        version = number_of(ask(nvml, call), most=_MOST_CUDA_VERSION)
        if version is not None:
            return f"{version // 1000}.{version % 1000 // 10}"
    return None
