"""What a live scheduler and the name of a processor add to the files: affinity, FMA pipes, clocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from estimator.app.host import host_devices
from estimator.app.probing import with_probe
from estimator.detect.host import detect_with
from estimator.measure.probes import CpuProbe, Measured
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.detect.facts import HostFacts
    from estimator.detect.recording import Recording

AVX512 = "fpu sse2 ht lm sse4_2 avx f16c fma avx2 avx512f avx512cd avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("allowed", "scheduled", "usable"),
    [(None, {0}, 1.0), ("0-1", {1}, 1.0), ("0", {0, 1}, 1.0), (None, None, 2.0)],
)
def test_the_smaller_of_file_and_scheduler_counts(
    allowed: str | None,
    scheduled: set[int] | None,
    usable: float,
    load_machine: Callable[[str], dict[str, Any]],
    recording_of: Callable[[Mapping[str, Any]], Recording],
) -> None:
    """The /proc/self/status of gVisor has no Cpus_allowed_list; its scheduler tells."""
    machine = load_machine("gvisor")
    if allowed is not None:
        machine["files"]["/proc/self/status"] = f"Cpus_allowed_list:\t{allowed}\n"
    seams = recording_of(machine).seams()
    affinity = None if scheduled is None else frozenset(scheduled)
    host = detect_with(replace(seams, live=True, affinity=affinity))
    assert host.cpu.usable_cpus == usable


@pytest.mark.parametrize(
    ("name", "pipes"),
    [
        ("Intel(R) Xeon(R) W-2195 CPU @ 2.30GHz", 2),
        ("Intel(R) Xeon(R) W-2123 CPU @ 3.60GHz", 2),
        ("Intel(R) Xeon(R) W-3175X CPU @ 3.10GHz", 2),
        ("Intel(R) Xeon(R) W-3275M CPU @ 2.50GHz", 2),
        ("Intel(R) Core(TM) i7-7800X CPU @ 3.50GHz", 2),
        ("Intel(R) Core(TM) i7-9800X CPU @ 3.80GHz", 2),
        ("Intel(R) Core(TM) i9-10980XE CPU @ 3.00GHz", 2),
        ("Intel(R) Xeon(R) Gold 5222 CPU @ 3.80GHz", 2),
        ("Intel(R) Xeon(R) Silver 4210 CPU @ 2.20GHz", 1),
        ("Intel(R) Xeon(R) D-2183IT CPU @ 2.20GHz", None),
    ],
)
def test_pipes_by_name(
    name: str, pipes: int | None, detect_machine: Callable[[Mapping[str, Any]], HostFacts]
) -> None:
    """Intel's product pages: "# of AVX-512 FMA Units"; of the Xeon D they and reviews disagree."""
    cpuinfo = {"vendor_id": "GenuineIntel", "cpu family": 6, "model": 85, "stepping": 4, "model name": name,
               "flags": AVX512}  # fmt: skip
    assert detect_machine({"cpus": {"cores": 8, "cpuinfo": cpuinfo}}).cpu.fma_pipes == pipes


def test_a_clock_measured_on_a_hybrid_keeps_its_efficiency_cores(
    load_machine: Callable[[str], dict[str, Any]],
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    device = host_devices(detect_machine(load_machine("hybrid-12900k"))).devices[0]
    clock = Measured(
        value=device.clock_hz / 2, low=device.clock_hz / 2, high=device.clock_hz / 2, repetitions=1
    )
    probed = with_probe(device, CpuProbe(threads=24, clock_hz=clock))
    loss = 8 * 32 * device.clock_hz / 2
    assert probed.peaks.vector[DType.FP32] == pytest.approx(device.peaks.vector[DType.FP32] - loss)


@pytest.mark.parametrize(
    ("flags", "base_khz", "clock", "said"),
    [
        ("fpu sse2 lm", 3_000_000, 3.0e9, "its base clock"),
        ("fpu sse2 lm", 4_000_000, 4.0e9, None),
    ],
)
def test_one_cores_turbo_is_not_the_clock_of_all(
    flags: str,
    base_khz: int,
    clock: float,
    said: str | None,
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """Of an unknown design nothing but the base clock is sure; without a turbo there is one clock."""
    cpuinfo = {"vendor_id": "GenuineIntel", "cpu family": 6, "model": 250, "stepping": 0,
               "model name": "Intel(R) Unknown", "flags": flags}  # fmt: skip
    files = {"/sys/devices/system/cpu/cpu0/cpufreq/base_frequency": f"{base_khz}\n"}
    cpus = {"cores": 4, "cpuinfo": cpuinfo, "max_khz": {"0-3": 4_000_000}}
    found = host_devices(detect_machine({"cpus": cpus, "files": files}))
    assert found.devices[0].clock_hz == pytest.approx(clock)
    told = [f"{finding.what} {finding.why}" for finding in found.findings if "taken to run" in finding.what]
    assert said in told[0] if said is not None else not told
