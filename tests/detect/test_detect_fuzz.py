"""Broken machines: files cut, lost or scrambled, drivers that answer nonsense; facts stay facts or None."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from detect_shared import expand  # type: ignore[import-not-found] # pytest's path, not mypy's
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from estimator.detect import detect_host
from estimator.detect.host import detect_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect import GpuFacts, HostFacts
    from estimator.detect.recording import Recording

DIRECTORY = Path(__file__).parent.parent / "machines"
# Machines of a hundred CPUs make an example slow and show no other code.
LARGE = {
    "server-2x-epyc-9654-smt-off", "docker-cpuset-12-52-of-192", "kubernetes-180-cpu-host", "dgx-a100",
    "grace-hopper-gh200", "thunderx-2x48", "aws-hpc6a-milan", "server-2x-e5-2680v4", "a64fx",
}  # fmt: skip
MACHINES: dict[str, Recording] = {
    path.stem: expand(yaml.safe_load(path.read_text(encoding="utf-8")))
    for path in sorted(DIRECTORY.glob("*.yaml"))
    if path.stem not in LARGE
}
# Numbers that are legitimately 0 or negative where they stand.
MAY_BE_ZERO = {
    "index", "framework_index", "parent_index", "stepping", "model", "part", "family", "implementer",
    "online_cpus", "allowed_cpus", "compute_capability", "memory_free_bytes", "available_bytes",
    "tensor_cores", "usable_cores",
}  # fmt: skip

NONSENSE = st.one_of(
    st.sampled_from(
        ["", "\n", "0\n", "-1\n", "max\n", "N/A", "<unknown>", "\0", "0x", "9" * 30, "1e400", "nan", "0-",
         "4294967295", "-2147483648", "18446744073709551615", "0-99999999", "ÿ\u0661", "unlimited", "0 0 0",
         "18446744073709551615 1"]
    ),
    st.text(max_size=30),
)  # fmt: skip
ANSWERS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=12),
    st.binary(max_size=8), st.lists(st.integers(-5, 2**40), max_size=3),
    st.fixed_dictionaries({"error": st.integers(-1, 1000)}),
    st.dictionaries(st.sampled_from(["total", "free", "busId", "pciDeviceId", "multiprocessorCount"]),
                    st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=5), st.none()), max_size=3),
)  # fmt: skip


@st.composite
def broken(draw: st.DrawFn) -> Recording:
    """Return a recorded machine with some of its files, answers, commands and variables broken."""
    recording = MACHINES[draw(st.sampled_from(sorted(MACHINES)))]
    windows = recording.windows
    if windows:
        windows = dict(windows)
        raw = str(windows.get("processor_information", ""))
        windows["processor_information"] = raw[: draw(st.integers(0, len(raw)))] + draw(
            st.sampled_from(["", "ff" * 9])
        )
        windows["processor"] = draw(_texts(windows.get("processor", {})))
    return replace(
        recording,
        files=draw(_texts(recording.files)),
        commands=draw(_texts(recording.commands)),
        environ=draw(st.dictionaries(st.sampled_from(["CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"]), NONSENSE)),
        nvml=draw(_answers(recording.nvml)) if recording.nvml is not None else None,
        windows=windows,
    )


@st.composite
def _texts(draw: st.DrawFn, texts: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(texts)
    for path in draw(st.lists(st.sampled_from(sorted(texts)), max_size=6)) if texts else ():
        text = str(changed.get(path, ""))
        how = draw(st.sampled_from(["lose", "cut", "replace", "scramble"]))
        if how == "lose":
            changed.pop(path, None)
        elif how == "cut":
            changed[path] = text[: draw(st.integers(0, len(text)))]
        elif how == "replace":
            changed[path] = draw(NONSENSE)
        else:
            at = draw(st.integers(0, len(text)))
            changed[path] = text[:at] + draw(NONSENSE) + text[at + draw(st.integers(0, 20)) :]
    return changed


@st.composite
def _answers(draw: st.DrawFn, nvml: Mapping[str, Any]) -> dict[str, Any]:
    devices = [dict(device) if isinstance(device, dict) else device for device in nvml.get("devices", [])]
    system = dict(nvml.get("system", {}))
    for owner in [*devices, system]:
        if isinstance(owner, dict) and owner:
            for call in draw(st.lists(st.sampled_from(sorted(owner)), max_size=4)):
                owner[call] = draw(ANSWERS)
    extra = draw(st.lists(ANSWERS, max_size=1))
    return {"system": system, "devices": devices + extra}


def numbers(value: object, name: str = "") -> list[tuple[str, float]]:
    """Return all the numbers in the facts with the names of their fields."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, (int, float)):
        return [(name, value)]
    if isinstance(value, (tuple, list)):
        return [found for item in value for found in numbers(item, name)]
    if is_dataclass(value):
        return [found for f in fields(value) for found in numbers(getattr(value, f.name), f.name)]
    return []


def check(recording: Recording) -> None:
    """Detect, and assert that every number could be one and that what is unknown has a finding."""
    host = detect_with(recording.seams())
    for name, number in numbers(host):
        assert math.isfinite(number), name
        assert number > 0 or (name in MAY_BE_ZERO and number >= 0), (name, number)
    assert_consistent(host)


def assert_consistent(host: HostFacts) -> None:
    """Assert what holds on every machine."""
    cpu = host.cpu
    # Of a kind of core none may be usable; of all together some always are.
    assert cpu.usable_cores is None or cpu.usable_cores > 0
    assert cpu.usable_cpus is None or cpu.threads is None or cpu.usable_cpus <= cpu.threads
    assert cpu.usable_cores is None or cpu.usable_cpus is None or cpu.usable_cores <= cpu.usable_cpus
    if cpu.threads is None or host.memory.total_bytes is None or cpu.microarchitecture is None:
        assert host.findings
    for gpu in host.gpus + host.hidden_gpus:
        if gpu.units is None or gpu.memory_bytes is None:
            assert gpu.findings
        if gpu.bandwidth_bytes_per_s is not None and gpu.parent_index is None:
            assert gpu.memory_bus_bits is not None
            assert gpu.memory_clock_hz is not None


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken())
def test_broken_machines(recording: Recording) -> None:
    check(recording)


@pytest.mark.nightly
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(broken())
def test_broken_machines_at_length(recording: Recording) -> None:
    check(recording)


WITH_GPUS = sorted(name for name, machine in MACHINES.items() if (machine.nvml or {}).get("devices"))
# What a GPU is known by: without it there is nothing to compare.
IDENTITY = {"nvmlDeviceGetUUID", "mig", "nvmlDeviceGetName", "nvmlDeviceGetCudaComputeCapability"}
GPU_FACTS = (
    "cores", "units", "max_clock_hz", "memory_bytes", "bandwidth_bytes_per_s", "power_limit_w", "target",
    "pcie_bytes_per_s", "memory_bus_bits", "name",
)  # fmt: skip
PLACES = (
    "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "proc/self/mountinfo", "proc/self/status",
    "sys/devices/system/cpu/online",
)  # fmt: skip


def gpu_facts(gpu: GpuFacts) -> dict[str, object]:
    """Return the facts of a GPU that come from its driver alone."""
    return {name: getattr(gpu, name) for name in GPU_FACTS}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_lost_answer_is_never_made_up(data: st.DataObject) -> None:
    """With answers failing, each fact of each GPU is what it was, or not known: never another's."""
    recording = MACHINES[data.draw(st.sampled_from(WITH_GPUS))]
    assert recording.nvml is not None
    whole = detect_with(recording.seams())
    truth = {(gpu.index, gpu.uuid): gpu for gpu in whole.gpus + whole.hidden_gpus}
    devices = []
    for device in recording.nvml["devices"]:
        calls = sorted(set(device) - IDENTITY)
        lost = data.draw(st.lists(st.sampled_from(calls), max_size=5)) if calls else []
        codes = {call: {"error": data.draw(st.sampled_from([3, 4, 13, 15, 999]))} for call in lost}
        devices.append({**device, **codes})
    host = detect_with(replace(recording, nvml={**recording.nvml, "devices": devices}).seams())
    for gpu in host.gpus + host.hidden_gpus:
        original = gpu_facts(truth[gpu.index, gpu.uuid])
        for name, value in gpu_facts(gpu).items():
            assert value is None or value == original[name], (name, value, original[name])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), name=st.sampled_from(PLACES))
def test_binary_garbage_on_disk(content: bytes, name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    assert_consistent(detect_host(root=tmp_path))
