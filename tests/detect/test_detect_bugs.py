"""Public cases of detection gone wrong elsewhere, each with its right answer: facts of recorded machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from estimator.app.host import host_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.detect import HostFacts

GITHUB = "https://github.com/"
# (case, where it was reported, machine, fact, right answer). The wrong answers stand in the reports.
CASES: list[tuple[str, str, str, str, Any]] = [
    ("1", "giampaolo/psutil/issues/1078", "raspberry-pi-3-armv7", "cpu.physical_cores", 4),
    ("3", "giampaolo/psutil/issues/1359", "raspberry-pi-3-aarch64", "cpu.physical_cores", 4),
    ("4", "GuillaumeGomez/sysinfo/issues/700", "raspberry-pi-3-aarch64", "cpu.physical_cores", 4),
    ("9", "giampaolo/psutil/issues/1969", "server-2x-e5-2680v4", "cpu.physical_cores", 28),
    ("11", "giampaolo/psutil/pull/614", "server-2x-x5550", "cpu.physical_cores", 8),
    ("12", "giampaolo/psutil/issues/1645", "pa-risc", "cpu.physical_cores", 4),
    ("17", "giampaolo/psutil/issues/1702", "windows-two-groups-96", "cpu.threads", 96),
    ("18", "python/cpython/issues/74766", "windows-two-groups-96", "cpu.usable_cpus", 48.0),
    ("19", "workhorsy/py-cpuinfo/issues/90", "windows-2x-gold-6148", "cpu.threads", 80),
    ("21", "seanmonstar/num_cpus/issues/81", "windows-two-groups-96", "cpu.threads", 96),
    ("22", "giampaolo/psutil/issues/1892", "mac-m1-pro", "cpu.max_clock_hz", None),
    ("23", "giampaolo/psutil/issues/2382", "mac-vm-m1", "cpu.max_clock_hz", None),
    ("24", "giampaolo/psutil/issues/2318", "linuxkit-on-m1", "cpu.max_clock_hz", None),
    ("26", "giampaolo/psutil/pull/2222", "mac-intel-i7-6700k", "cpu.current_clock_hz", None),
    ("27", "giampaolo/psutil/issues/981", "linuxkit-on-m1", "cpu.current_clock_hz", None),
    ("28", "giampaolo/psutil/issues/1071", "rhel7-no-scaling-cur-freq", "cpu.max_clock_hz", 3.4e9),
    ("30", "giampaolo/psutil/issues/1197", "vm-sandy-bridge-sockets", "cpu.tsc_clock_hz", 2593748000.0),
    ("31", "giampaolo/psutil/issues/2254", "laptop-9750h-offline-cpus", "cpu.max_clock_hz", 4.5e9),
    ("32", "AdnanHodzic/auto-cpufreq/issues/119", "laptop-9750h-offline-cpus", "cpu.threads", 9),
    ("33", "openvinotoolkit/openvino/pull/32251", "container-stale-topology", "cpu.threads", 4),
    ("37", "oracle/hiq/issues/28", "lambda-graviton2", "cpu.microarchitecture", "neoverse-n1"),
    ("40", "workhorsy/py-cpuinfo/issues/10", "armv6-no-stepping", "cpu.stepping", None),
    ("41", "workhorsy/py-cpuinfo/issues/11", "pentium-d", "cpu.base_clock_hz", 3.2e9),
    ("42", "workhorsy/py-cpuinfo/issues/41", "odroid-xu3-big-little", "cpu.physical_cores", 8),
    ("43", "workhorsy/py-cpuinfo/issues/49", "thunderx-2x48", "cpu.physical_cores", 96),
    ("44", "workhorsy/py-cpuinfo/issues/13", "vm-sandy-bridge-sockets", "cpu.physical_cores", 4),
    ("46", "archspec/archspec/issues/63", "vm-naples-masked-flag", "cpu.microarchitecture", "zen"),
    ("48", "spack/spack/pull/29487", "aws-hpc6a-milan", "cpu.microarchitecture", "zen3"),
    ("49", "spack/spack/issues/36817", "desktop-5950x-wsl2", "cpu.microarchitecture", "zen3"),
    ("50", "spack/spack/issues/43106", "grace-hopper-gh200", "cpu.microarchitecture", "neoverse-v2"),
    ("51", "spack/spack/issues/12896", "azure-epyc-7551", "cpu.microarchitecture", "zen"),
    ("52", "pytorch/cpuinfo/issues/14", "lambda-x86", "cpu.threads", 2),
    ("54", "microsoft/onnxruntime/issues/10038", "lambda-graviton2", "cpu.threads", 2),
    ("55", "google/gvisor/issues/91", "gvisor", "cpu.threads", 2),
    ("57", "ray-project/ray/issues/8983", "kubernetes-180-cpu-host", "cpu.usable_cpus", 3.0),
    ("58", "ray-project/ray/issues/27958", "openshift-shares-only", "cpu.usable_cpus", 16.0),
    ("60", "dask/distributed/issues/3053", "docker-v1-cpuacct-cpu", "cpu.usable_cpus", 2.2),
    ("61", "joblib/loky/pull/355", "docker-quota-half", "cpu.usable_cpus", 0.5),
    ("62", "joblib/loky/issues/478", "liquorix-empty-cpu-max", "cpu.usable_cpus", 4.0),
    ("63", "joblib/loky/issues/634", "systemd-slice-nested-limit", "cpu.usable_cpus", 1.5),
    ("67", "microsoft/azurelinux/pull/18181", "systemd-slice-nested-limit", "cpu.quota_cpus", 1.5),
    ("68", "lxc/lxcfs/pull/602", "lxc-lxcfs", "cpu.usable_cpus", 2.0),
    ("69", "scylladb/seastar/issues/582", "docker-cpuset-12-52-of-192", "cpu.usable_cpus", 2.0),
    ("70", "NVIDIA/cosmos-framework/pull/22", "dgx-spark-gb10", "gpus.0.memory_bytes", 128498401280),
    ("71", "leptonai/gpud/issues/1170", "dgx-spark-gb10", "gpus.0.unified_memory", True),
    ("72", "XuehaiPan/nvitop/pull/208", "dgx-spark-gb10-wrong-memory", "gpus.0.memory_bytes", 128498401280),
    ("73", "wookayin/gpustat/pull/179", "grace-hopper-gh200", "gpus.0.unified_memory", False),
    ("75", "ollama/ollama/pull/12619", "dgx-spark-gb10", "gpus.0.memory_free_bytes", 122880000000),
    ("76", "Syllo/nvtop/pull/499", "dgx-spark-gb10", "gpus.0.pcie_bytes_per_s", None),
    ("88", "narendasan/rtop/issues/14", "laptop-rtx-2070-max-q", "gpus.0.units", 36),
    ("89", "XuehaiPan/nvitop/issues/168", "orin-nano", "gpus.0.memory_bytes", 7990075392),
    ("91", "Syllo/nvtop/issues/225", "orin-nx-stub", "gpus.0.units", 8),
    ("92", "Syllo/nvtop/issues/150", "agx-xavier", "gpus.0.cores", 512),
    ("93", "rbonghi/jetson_stats/pull/698", "thor", "gpus.0.name", "NVIDIA Thor"),
    ("95", "JuliaGPU/CUDA.jl/issues/2542", "orin-nano", "gpus.0.name", "Orin (nvgpu)"),
    ("100", "NVIDIA/cudnn-frontend/pull/699", "two-kinds-masked", "gpus.0.index", 1),
    ("105", "ROCm/legacy-rocm-build/issues/4750", "mi300x-cpx", "gpus.0.memory_bytes", 25767706624),
    ("106", "ROCm/k8s-gpu-dra-driver/issues/20", "mi300x-cpx", "gpus.len", 2),
    ("108", "Syllo/nvtop/issues/138", "radeon-wx-5100", "gpus.0.pcie_current_generation", 3),
    ("local-1", "", "firecracker-zen4", "cpu.microarchitecture", "zen4"),
    ("local-2", "", "firecracker-zen4", "cpu.caches.0.size_bytes", 32768),
    ("local-3", "", "firecracker-zen4", "cpu.max_clock_hz", None),
    ("local-4", "", "firecracker-zen4", "cpu.usable_cpus", 2.0),
]


def fact(host: HostFacts, path: str) -> object:
    """Return the fact at a dotted path, ``len`` for a count."""
    value: Any = host
    for step in path.split("."):
        value = len(value) if step == "len" else value[int(step)] if step.isdigit() else getattr(value, step)
    return value


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}" for case in CASES])
def test_public_case(
    case: tuple[str, str, str, str, Any],
    load_machine: Callable[[str], dict[str, Any]],
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    number, report, machine, path, right = case
    assert fact(detect_machine(load_machine(machine)), path) == right, (number, GITHUB + report)


def test_slice_of_a_socket_is_not_given_the_sockets_bandwidth(
    load_machine: Callable[[str], dict[str, Any]],
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """Case local-5: two vCPUs of a 12-channel socket draw 46 GB/s, never the 460 that its channels add up to.

    There is no board to read, so the bandwidth is left unknown or is what such a slice was measured to draw.
    """
    for machine in (load_machine("firecracker-zen4"), slice_named("AMD EPYC 9654 96-Core Processor")):
        (device,) = host_devices(detect_machine(machine)).devices
        bandwidth = device.bandwidth_bytes_per_s
        assert bandwidth is None or bandwidth == pytest.approx(46e9, rel=0.1), device.name
        assert device.units <= 2


def test_slice_without_a_clock_runs_as_processors_of_its_base_clock(
    load_machine: Callable[[str], Mapping[str, Any]],
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """The counter's 2.6 GHz is the base clock of a Zen 4 that runs at 3.7; another tells nothing."""
    machine = load_machine("firecracker-zen4")
    found = host_devices(detect_machine(machine))
    assert found.devices[0].clock_hz == pytest.approx(3.7e9)
    assert any("3.70 GHz (as" in f"{f.what} ({f.why}" for f in found.findings)
    cpus = machine["cpus"]
    other = {**machine, "cpus": {**cpus, "cpuinfo": {**cpus["cpuinfo"], "cpu MHz": 2222.0}}}
    assert host_devices(detect_machine(other)).devices[0].clock_hz == pytest.approx(2.222e9)


def test_container_on_few_cores_is_not_given_the_sockets_bandwidth(
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """Case local-5 without a hypervisor's flag: a control group leaves two of 96 cores."""
    machine = slice_named("AMD EPYC 9654 96-Core Processor", flag="")
    (device,) = host_devices(detect_machine(machine)).devices
    assert device.bandwidth_bytes_per_s is None or device.bandwidth_bytes_per_s < 100e9


def slice_named(model: str, flag: str = "hypervisor") -> dict[str, Any]:
    """Return a machine with two CPUs of a Genoa socket, no clock and no board facts."""
    flags = f"fpu sse2 ht lm sse4_2 {flag} avx f16c fma avx2 avx512f avx512_vnni avx512_bf16"
    cpuinfo = {
        "vendor_id": "AuthenticAMD", "cpu family": 25, "model": 17, "stepping": 1, "model name": model,
        "flags": flags,
    }  # fmt: skip
    return {"cpus": {"cores": 2, "cpuinfo": cpuinfo}}


def intel(**more: object) -> dict[str, Any]:
    """Return the short form of a plain Intel host with more keys for its CPUs."""
    cpuinfo = {
        "vendor_id": "GenuineIntel", "cpu family": 6, "model": 60, "stepping": 3,
        "model name": "Intel(R) Core(TM) i5-4590 CPU @ 3.30GHz", "flags": "fpu sse2 lm avx f16c fma avx2",
    }  # fmt: skip
    return {"cores": 4, "cpuinfo": cpuinfo, **more}


def test_empty_cpufreq_directory_leaves_cpuinfo_mhz(
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """Case 27, https://github.com/giampaolo/psutil/issues/981."""
    cpus = intel()
    cpus["cpuinfo"]["cpu MHz"] = "3292.4"
    host = detect_machine({"cpus": cpus, "listings": {"/sys/devices/system/cpu": ["cpufreq"]}})
    assert host.cpu.current_clock_hz == pytest.approx(3292.4e6)
    assert host.cpu.max_clock_hz is None


def test_offline_cpu_without_cpufreq(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Case 31, https://github.com/giampaolo/psutil/issues/2254."""
    cpus = intel(online="0,2-3", max_khz={"0-3": 3700000})
    host = detect_machine({"cpus": cpus, "files": {"/sys/devices/system/cpu/cpu1/online": "0\n"}})
    assert (host.cpu.threads, host.cpu.physical_cores, host.cpu.max_clock_hz) == (3, 3, 3.7e9)


def test_unreadable_clock_text(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Cpufreq drivers write ``<unknown>`` or 0 where they do not know."""
    base = "/sys/devices/system/cpu/cpu0/cpufreq"
    files = {f"{base}/cpuinfo_max_freq": "<unknown>\n", f"{base}/base_frequency": "0\n"}
    host = detect_machine({"cpus": intel(cores=1), "files": files})
    assert host.cpu.max_clock_hz is None
    assert host.cpu.base_clock_hz == pytest.approx(3.3e9)


def test_stale_cpuset(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Case 69, https://github.com/scylladb/seastar/issues/582: pinned to CPUs that are not there."""
    files = {"/proc/self/status": "Cpus_allowed_list:\t8-9\n"}
    host = detect_machine({"cpus": intel(), "files": files})
    assert host.cpu.usable_cpus == 2.0
    assert any("not online" in found.what for found in host.findings)


def test_every_cpu_with_core_id_0(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Guests whose cpuinfo gives every CPU ``core id 0`` of ``cpu cores 1`` have a core a CPU."""
    ids = {"physical id": 0, "core id": 0, "cpu cores": 1, "siblings": 1}
    cpus = intel(sysfs=False, parts=[{"cpus": "0-3", "cpuinfo": ids}])
    host = detect_machine({"cpus": cpus})
    assert host.cpu.physical_cores == 4


def test_every_core_id_0_in_sysfs(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """The same in sysfs, where each CPU's list of siblings names only itself."""
    files: dict[str, str] = {}
    for cpu in range(4):
        base = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        files |= {f"{base}/core_id": "0\n", f"{base}/thread_siblings_list": f"{cpu}\n"}
    host = detect_machine({"cpus": intel(), "files": files})
    assert (host.cpu.physical_cores, host.cpu.sockets) == (4, 1)


def test_nothing_is_shelled_out_to_on_linux(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Cases 55 and 67: lscpu fails in a sandbox, nproc differs by version; neither is run."""
    host = detect_machine({"cpus": intel(), "commands": {"nproc": "1\n", "lscpu": "garbage"}})
    assert host.cpu.usable_cpus == 4.0


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("max 100000", None), ("50000 100000", 0.5), ("150000", 1.5), ("150000\t100000", 1.5), ("", None),
        ("max", None), ("-1 100000", None), ("0 100000", None), ("200000 0", None), ("garbage", None),
        ("1e5 100000", None),
    ],
)  # fmt: skip
def test_cpu_max_dialects(
    text: str, cpus: float | None, detect_machine: Callable[[Mapping[str, Any]], HostFacts]
) -> None:
    host = detect_machine({"cpus": intel(), "files": {"/sys/fs/cgroup/cpu.max": text + "\n"}})
    assert host.cpu.quota_cpus == cpus
    assert host.cpu.usable_cpus == (4.0 if cpus is None else cpus)


def test_group_path_outside_the_namespace(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """A process moved out of its namespace's root sees ``/../..`` and still its mount's limit."""
    files = {"/proc/self/cgroup": "0::/../../other\n", "/sys/fs/cgroup/cpu.max": "100000 100000\n"}
    assert detect_machine({"cpus": intel(), "files": files}).cpu.usable_cpus == 1.0


def test_v2_bind_mount_of_the_own_group(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Without a cgroup namespace the container's mount starts at its own group."""
    pod = "/kubepods.slice/pod1.slice/cri-abc.scope"
    files = {
        "/proc/self/cgroup": f"0::{pod}\n",
        "/proc/self/mountinfo": f"9 8 0:26 {pod} /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
        "/sys/fs/cgroup/cpu.max": "250000 100000\n",
        "/sys/fs/cgroup/cpuset.cpus.effective": "0-1\n",
    }
    host = detect_machine({"cpus": intel(), "files": files})
    assert (host.cpu.quota_cpus, host.cpu.usable_cpus) == (2.5, 2.0)


def test_laptop_of_the_20_series(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """Drivers call the mobile RTX 2070 by the desktop card's name; the chassis tells it may be either."""
    gpu = {"nvmlDeviceGetName": "NVIDIA GeForce RTX 2070", "nvmlDeviceGetCudaComputeCapability": [7, 5]}
    files = {"/sys/class/dmi/id/chassis_type": "10\n"}
    host = detect_machine({"cpus": intel(), "files": files, "nvml": {"devices": [gpu]}})
    assert host.gpus[0].laptop is None
    assert any("laptop part" in found.what for found in host.gpus[0].findings)


def test_vgpu_is_said_to_be_a_share(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    gpu = {"nvmlDeviceGetName": "GRID A100-10C", "nvmlDeviceGetVirtualizationMode": 2}
    host = detect_machine({"cpus": intel(), "nvml": {"devices": [gpu]}})
    assert any("share of a card" in found.what for found in host.gpus[0].findings)


@pytest.mark.parametrize(
    ("nvml", "what", "why", "remedy"),
    [
        ({"system": {"nvmlDeviceGetCount": {"error": 999}}}, "could be read", "NVML error 999", "Xid"),
        ({"system": {"nvmlDeviceGetCount": 0}}, "found", "lists none", "--gpus"),
        ({"system": {"nvmlInit": {"error": 13}}}, "could be read", "too old", "update NVIDIA's driver"),
        ({"devices": [{"error": 4}]}, "GPU 0 cannot be read", "permission denied", "/dev/nvidia"),
        ({"devices": [{"error": 15}]}, "GPU 0 cannot be read", "fallen off the bus", "Xid"),
    ],
)
def test_each_error_of_nvml_keeps_its_reason_and_remedy(
    nvml: dict[str, Any],
    what: str,
    why: str,
    remedy: str,
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    host = detect_machine({"cpus": intel(), "nvml": nvml})
    (found,) = [finding for finding in host.findings if "NVIDIA" in finding.what]
    assert what in found.what
    assert why in found.why
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("name", "capability", "cores", "tensor_cores"),
    [
        ("NVIDIA A100-SXM4-40GB", [8, 0], 6912, 432),
        ("Tesla T4", [7, 5], 2560, 320),
        ("NVIDIA GeForce GTX 1660 Ti", [7, 5], 1536, 0),
        ("Graphics Device", [7, 5], 1536, None),
        ("NVIDIA GeForce GTX 1080 Ti", [6, 1], 3584, 0),
        ("NVIDIA Thor", [11, 0], 2560, None),
    ],
)
def test_tensor_cores_follow_from_the_multiprocessors(
    name: str,
    capability: list[int],
    cores: int,
    tensor_cores: int | None,
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    gpu = {
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetCudaComputeCapability": capability,
        "nvmlDeviceGetNumGpuCores": cores,
    }
    host = detect_machine({"cpus": intel(), "nvml": {"devices": [gpu]}})
    assert host.gpus[0].tensor_cores == tensor_cores


def test_two_kinds_of_arm_core_are_both_named(
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """Boards list the small cores first, and no model name (Rockchip RK3588)."""
    small, large = {"CPU part": "0xd05"}, {"CPU part": "0xd0b"}
    cpus = {
        "cores": 8, "cpuinfo": {"CPU implementer": "0x41", "CPU architecture": 8, "Features": "fp asimd"},
        "parts": [{"cpus": "0-3", "cpuinfo": small}, {"cpus": "4-7", "cpuinfo": large}],
    }  # fmt: skip
    assert detect_machine({"cpus": cpus}).cpu.model_name == "Cortex-A76 + Cortex-A55"


def test_hidden_fma_halves_the_lanes(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """A hypervisor that hides FMA leaves adds and multiplies: half the FLOPs of the same pipes."""
    cpus = intel()
    cpus["cpuinfo"]["flags"] = "fpu sse2 lm hypervisor avx"
    host = detect_machine({"cpus": cpus})
    assert (host.cpu.has_fma, host.cpu.simd_bits, host.cpu.fma_pipes, host.cpu.lanes) == (False, 256, 1, 32)


def test_power_policy_holds_the_clock_down(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    files = {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1\n"}
    host = detect_machine({"cpus": intel(max_khz={"0-3": 3700000}), "files": files})
    assert host.cpu.max_clock_hz == pytest.approx(3.3e9)
    assert any(re.search("held at 3.30 GHz", found.what) for found in host.findings)


def test_thread_variable_is_named(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    host = detect_machine({"cpus": intel(), "environ": {"OMP_NUM_THREADS": "1"}})
    assert any("use 1 thread" in found.what for found in host.findings)


def test_unknown_family_is_named_by_its_instruction_sets(
    detect_machine: Callable[[Mapping[str, Any]], HostFacts],
) -> None:
    """archspec, second in line, gives a name and no rates: those stay unknown."""
    pytest.importorskip("archspec")
    from archspec.cpu import TARGETS

    flags = " ".join(sorted({*TARGETS["zen3"].features, "lm"}))
    cpuinfo = {"vendor_id": "AuthenticAMD", "cpu family": 99, "model": 1, "model name": "New", "flags": flags}
    cpu = detect_machine({"cpus": {"cores": 2, "cpuinfo": cpuinfo}}).cpu
    assert cpu.microarchitecture == "zen3"
    assert "or later" in (cpu.microarchitecture_name or "")
    assert (cpu.fma_pipes, cpu.lanes) == (None, None)


def test_rosetta(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    """A translated process sees an invented Intel processor; the native sysctl tells the chip."""
    sysctl = "sysctl hw machdep.cpu kern.hv_vmm_present"
    counts = "hw.physicalcpu: 8\nhw.logicalcpu: 8\nhw.memsize: 17179869184\n"
    translated = (
        counts + "machdep.cpu.brand_string: VirtualApple @ 2.50GHz\nmachdep.cpu.vendor: GenuineIntel\n"
    )
    native = counts + "machdep.cpu.brand_string: Apple M2\nhw.optional.arm64: 1\n"
    commands = {sysctl: translated, f"arch -arm64 {sysctl}": native}
    host = detect_machine({"system": "darwin", "commands": commands})
    assert (host.cpu.microarchitecture, host.cpu.vendor) == ("apple-m2", "Apple")
    hidden = detect_machine({"system": "darwin", "commands": {sysctl: translated}})
    assert (hidden.cpu.microarchitecture, hidden.cpu.base_clock_hz) == (None, None)


def test_windows_on_arm(detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    processor = {
        "ProcessorNameString": "Snapdragon(R) X Elite - X1E78100 - Qualcomm(R) Oryon(TM) CPU",
        "Identifier": "ARMv8 (64-bit) Family 8 Model 1 Revision 201", "~MHz": 3417,
        "VendorIdentifier": "Qualcomm Technologies Inc",
    }  # fmt: skip
    layout = {"cores": 12, "smt": 1, "groups": 1, "packages": 1}
    windows = {"processor": processor, "layout": layout, "features": ["neon", "asimddp"]}
    cpu = detect_machine({"system": "windows", "windows": windows}).cpu
    assert (cpu.microarchitecture, cpu.architecture, cpu.physical_cores) == ("oryon", "aarch64", 12)
    assert cpu.lanes == 192
