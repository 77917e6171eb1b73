"""NVML through the real nvidia-ml-py: a Python object stands in for the driver's library."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

import pynvml
import pytest

from estimator.detect import detect_host
from estimator.detect.nvml import ask, load_binding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from estimator.detect import HostFacts

NOT_SUPPORTED = 3


class FakeLibrary:
    """A driver library with one GPU: a missing function is FunctionNotFound, ``codes`` override answers."""

    def __init__(self, name: bytes = b"Tesla T4", codes: dict[str, int] | None = None) -> None:
        self.name = name
        self.codes = codes or {}
        self.asked: set[str] = set()
        self.numbers = {
            "nvmlDeviceGetNumGpuCores": 2560, "nvmlDeviceGetMemoryBusWidth": 256,
            "nvmlDeviceGetMaxPcieLinkGeneration": 3, "nvmlDeviceGetMaxPcieLinkWidth": 16,
            "nvmlDeviceGetEnforcedPowerLimit": 70000, "nvmlDeviceGetCount_v2": 1,
            "nvmlSystemGetCudaDriverVersion_v2": 12040,
        }  # fmt: skip
        self.clocks = {1: 1590, 2: 5001}
        self.capability = (7, 5)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - stands in for ctypes' functions
        if not name.startswith("nvml"):
            raise AttributeError(name)
        self.asked.add(name)
        if name in self.codes:
            return lambda *_arguments: self.codes[name]
        if name in self.numbers:
            return lambda *arguments: _store(arguments[-1], self.numbers[name])
        return getattr(self, "answer_" + name)

    def answer_nvmlInitWithFlags(self, _flags: int) -> int:  # noqa: N802 - the library's name
        return 0

    def answer_nvmlShutdown(self) -> int:  # noqa: N802 - the library's name
        return 0

    def answer_nvmlDeviceGetHandleByIndex_v2(self, _index: object, handle: Any) -> int:  # noqa: N802, ANN401 - as above
        return _store(handle, 0x1234)

    def answer_nvmlDeviceGetName(self, _handle: object, text: Any, _size: object) -> int:  # noqa: N802, ANN401 - as above
        text.value = self.name
        return 0

    def answer_nvmlDeviceGetCudaComputeCapability(self, _h: object, major: Any, minor: Any) -> int:  # noqa: N802, ANN401 - as above
        _store(major, self.capability[0])
        return _store(minor, self.capability[1])

    def answer_nvmlDeviceGetMaxClockInfo(self, _h: object, domain: Any, clock: Any) -> int:  # noqa: N802, ANN401 - as above
        return _store(clock, self.clocks[domain.value])

    def answer_nvmlDeviceGetMemoryInfo(self, _handle: object, memory: Any) -> int:  # noqa: N802, ANN401 - as above
        memory._obj.total, memory._obj.free = 16106127360, 15000000000  # noqa: SLF001 - ctypes' byref
        return 0


def _store(pointer: Any, value: int) -> int:  # noqa: ANN401 - ctypes' byref
    pointer._obj.value = value  # noqa: SLF001 - ctypes' byref
    return 0


@pytest.fixture
def put_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[FakeLibrary], HostFacts]]:
    """Return a function that detects an empty host with the library put in place of the driver's."""

    def detect(library: FakeLibrary) -> HostFacts:
        pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001 - the binding keeps pointers of the old library
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        return detect_host(root=tmp_path)

    yield detect
    pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001 - as above


def test_all_answers(put_in: Callable[[FakeLibrary], HostFacts]) -> None:
    (gpu,) = put_in(FakeLibrary()).gpus
    assert (gpu.name, gpu.units, gpu.cores, gpu.target) == ("Tesla T4", 40, 2560, "sm_75")
    assert gpu.bandwidth_bytes_per_s == pytest.approx(320.064e9)
    assert (gpu.memory_bytes, gpu.power_limit_w, gpu.max_clock_hz) == (16106127360, 70.0, 1.59e9)
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.runtime_version) == (3, 16, "12.4")


def test_one_failure_costs_one_field(put_in: Callable[[FakeLibrary], HostFacts]) -> None:
    """Case 88, https://github.com/narendasan/rtop/issues/14."""
    for call, field in (
        ("nvmlDeviceGetEnforcedPowerLimit", "power_limit_w"),
        ("nvmlDeviceGetNumGpuCores", "units"),
        ("nvmlDeviceGetMemoryInfo", "memory_bytes"),
        ("nvmlDeviceGetMaxClockInfo", "max_clock_hz"),
        ("nvmlDeviceGetMemoryBusWidth", "bandwidth_bytes_per_s"),
    ):
        (gpu,) = put_in(FakeLibrary(codes={call: NOT_SUPPORTED})).gpus
        assert getattr(gpu, field) is None
        assert gpu.name == "Tesla T4"


def test_zero_means_not_known(put_in: Callable[[FakeLibrary], HostFacts]) -> None:
    library = FakeLibrary()
    library.numbers |= {"nvmlDeviceGetNumGpuCores": 0, "nvmlDeviceGetMemoryBusWidth": 0,
                        "nvmlDeviceGetEnforcedPowerLimit": 0, "nvmlDeviceGetMaxPcieLinkWidth": 0}  # fmt: skip
    (gpu,) = put_in(library).gpus
    assert (gpu.cores, gpu.units, gpu.bandwidth_bytes_per_s, gpu.power_limit_w) == (None, None, None, None)
    assert (gpu.pcie_width, gpu.pcie_bytes_per_s) == (None, None)


@pytest.mark.parametrize(
    ("case", "code", "why"),
    [
        ("85 https://github.com/gpuopenanalytics/pynvml/issues/26", 12, "not installed"),
        ("91 https://github.com/Syllo/nvtop/issues/225", 999, ""),
        ("no driver", 9, "not loaded"),
        ("permission", 4, "permission denied"),
        ("mismatch", 18, "different versions"),
    ],
)
def test_library_that_does_not_start(
    case: str, code: int, why: str, put_in: Callable[[FakeLibrary], HostFacts]
) -> None:
    host = put_in(FakeLibrary(codes={"nvmlInitWithFlags": code}))
    assert host.gpus == ()
    assert any("NVML does not start" in found.why and why in found.why for found in host.findings), case


def test_old_driver_misses_functions(put_in: Callable[[FakeLibrary], HostFacts]) -> None:
    """Cases 83, 98, 103: a driver or binding without a call costs that fact only.

    https://github.com/NVIDIA/k8s-device-plugin/issues/331 https://github.com/wookayin/gpustat/issues/102
    """
    library = FakeLibrary()
    del library.numbers["nvmlDeviceGetNumGpuCores"], library.numbers["nvmlDeviceGetMemoryBusWidth"]
    (gpu,) = put_in(library).gpus
    assert (gpu.cores, gpu.mig_enabled, gpu.peers) == (None, None, ())
    assert gpu.memory_bytes == 16106127360


def test_only_what_is_needed_is_asked(put_in: Callable[[FakeLibrary], HostFacts]) -> None:
    """Cases 81, 87, 99: process lists and energy counters, which break by driver, are never asked for.

    https://github.com/XuehaiPan/nvitop/issues/88 https://github.com/rust-nvml/nvml-wrapper/pull/54
    https://github.com/sustainable-computing-io/kepler/issues/1198
    """
    library = FakeLibrary()
    put_in(library)
    assert not [
        name for name in library.asked if "Process" in name or "Energy" in name or "Utilization" in name
    ]


def test_binding_without_a_function() -> None:
    """Case 103, https://github.com/wookayin/gpustat/issues/27: an AttributeError is an answer too."""

    class OldBinding:
        def nvmlInit(self) -> None:  # noqa: N802 - the library's name
            raise ctypes.ArgumentError

    assert (
        ask(OldBinding(), "nvmlDeviceGetName", 1).reason
        == "nvmlDeviceGetName is missing in the installed nvidia-ml-py"
    )
    assert not ask(OldBinding(), "nvmlInit").ok


def test_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert load_binding() == (None, "the package nvidia-ml-py is not installed")


def test_gb10_by_the_real_binding(put_in: Callable[[FakeLibrary], HostFacts], tmp_path: Path) -> None:
    """Cases 70 to 76: memory NotSupported, PCIe a placeholder; memory is the host's."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 125486720 kB\nMemAvailable: 120000000 kB\n")
    library = FakeLibrary(b"NVIDIA GB10", {"nvmlDeviceGetMemoryInfo": NOT_SUPPORTED})
    library.capability = (12, 1)
    library.numbers |= {"nvmlDeviceGetNumGpuCores": 6144, "nvmlDeviceGetMaxPcieLinkGeneration": 1,
                        "nvmlDeviceGetMaxPcieLinkWidth": 1}  # fmt: skip
    (gpu,) = put_in(library).gpus
    assert (gpu.unified_memory, gpu.memory_bytes, gpu.units) == (True, 125486720 * 1024, 48)
    assert gpu.pcie_generation is None


def test_recorded_root_never_shows_this_hosts_gpu(tmp_path: Path) -> None:
    """Another machine's files say nothing of the GPUs in here."""
    host = detect_host(root=tmp_path)
    assert host.gpus == ()
    assert not any("NVML" in found.why for found in host.findings)
