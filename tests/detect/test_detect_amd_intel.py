"""AMD and Intel GPUs by the files of their drivers: whose memory it is, and what a partition shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.detect.facts import HostFacts

    Detect = Callable[[Mapping[str, Any]], HostFacts]

KFD = "/sys/class/kfd/kfd/topology/nodes"
MEMORY = {"/proc/meminfo": "MemTotal: 128000000 kB\nMemAvailable: 120000000 kB\n"}
CPUS = {"cores": 4, "cpuinfo": {"vendor_id": "AuthenticAMD", "cpu family": 26, "model": 112, "stepping": 0}}


def kfd_node(number: int, properties: Mapping[str, int], bank: Mapping[str, int]) -> dict[str, str]:
    """Return the files of one kfd node."""
    return {
        f"{KFD}/{number}/properties": "".join(f"{k} {v}\n" for k, v in properties.items()),
        f"{KFD}/{number}/mem_banks/0/properties": "".join(f"{k} {v}\n" for k, v in bank.items()),
    }


STRIX_HALO = {
    "cpu_cores_count": 0, "simd_count": 80, "simd_per_cu": 2, "gfx_target_version": 110501,
    "vendor_id": 4098, "device_id": 5510, "drm_render_minor": 128, "max_engine_clk_fcompute": 2900,
}  # fmt: skip
CARVE_OUT = {"heap_type": 1, "size_in_bytes": 512 << 20, "width": 256, "mem_clk_max": 1000}
MI300X = {
    "simd_count": 1216, "simd_per_cu": 4, "gfx_target_version": 90402, "vendor_id": 4098, "device_id": 29857,
    "drm_render_minor": 128, "max_engine_clk_fcompute": 2100, "location_id": 0x700,
}  # fmt: skip
HBM3 = {"heap_type": 1, "size_in_bytes": 192 << 30, "width": 8192, "mem_clk_max": 1300}


@pytest.mark.parametrize("target", [90002, 90012, 100303, 100305, 100306, 110003, 110500, 110501])
def test_graphics_of_a_processor_use_main_memory(detect_machine: Detect, target: int) -> None:
    """What firmware sets aside is not the memory, and DDR5 is no GDDR6: no bandwidth is made of it."""
    node = kfd_node(1, {**STRIX_HALO, "gfx_target_version": target}, CARVE_OUT)
    gpu = detect_machine({"cpus": CPUS, "files": {**MEMORY, **node}}).gpus[0]
    assert gpu.unified_memory
    assert gpu.memory_bytes == 128_000_000 << 10
    assert gpu.bandwidth_bytes_per_s is None
    assert any("uses main memory" in found.why for found in gpu.findings)


@pytest.mark.parametrize("target", [90000, 100304, 110000])
def test_cards_keep_their_own_memory(detect_machine: Detect, target: int) -> None:
    """gfx1034 is the RX 6400, between the targets of two processors."""
    bank = {**CARVE_OUT, "size_in_bytes": 4 << 30, "width": 64}
    node = kfd_node(1, {**STRIX_HALO, "gfx_target_version": target}, bank)
    gpu = detect_machine({"cpus": CPUS, "files": {**MEMORY, **node}}).gpus[0]
    assert (gpu.unified_memory, gpu.memory_bytes) == (False, 4 << 30)


def test_a_whole_card_has_its_bandwidth(detect_machine: Detect) -> None:
    gpu = detect_machine({"cpus": CPUS, "files": {**MEMORY, **kfd_node(1, MI300X, HBM3)}}).gpus[0]
    assert gpu.bandwidth_bytes_per_s == pytest.approx(5.3e12, rel=0.01)
    assert gpu.pci_address == "0000:07:00.0"


def test_partitions_share_the_bandwidth_and_keep_the_slot(detect_machine: Detect) -> None:
    """Bits 31:28 of the location are the number of the partition."""
    nodes: dict[str, str] = {}
    for n in range(2):
        part = {**MI300X, "simd_count": 608, "location_id": (n << 28) | 0x700, "drm_render_minor": 128 + n}
        nodes |= kfd_node(1 + n, part, {**HBM3, "size_in_bytes": 96 << 30})
    gpus = detect_machine({"cpus": CPUS, "files": {**MEMORY, **nodes}}).gpus
    assert [gpu.pci_address for gpu in gpus] == ["0000:07:00.0"] * 2
    assert [gpu.bandwidth_bytes_per_s for gpu in gpus] == [None, None]
    assert all(any("partition" in found.what for found in gpu.findings) for gpu in gpus)


def test_the_only_partition_shown_is_still_one(detect_machine: Detect) -> None:
    """A container may be given the first partition alone: the driver's mode tells."""
    mode = {"/sys/class/drm/renderD128/device/current_compute_partition": "CPX\n"}
    host = detect_machine({"cpus": CPUS, "files": {**MEMORY, **mode, **kfd_node(1, MI300X, HBM3)}})
    assert host.gpus[0].bandwidth_bytes_per_s is None


def intel_gpu(number: str, slot: str = "0000:03:00.0") -> dict[str, str]:
    """Return the files of an Intel GPU on the bus."""
    base = f"/sys/bus/pci/devices/{slot}"
    return {f"{base}/class": "0x030000\n", f"{base}/vendor": "0x8086\n", f"{base}/device": f"0x{number}\n"}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        ("e212", "Arc Pro B50"), ("e211", "Arc Pro B60"), ("4905", "Iris Xe MAX Graphics"),
        ("0bd9", "Data Center GPU Max 1100"), ("56b3", "Intel GPU 8086:56b3"),
        ("56c2", "Intel GPU 8086:56c2"), ("ffff", "Intel GPU 8086:ffff"),
    ],
)  # fmt: skip
def test_a_discrete_intel_gpu_does_not_have_the_hosts_memory(
    detect_machine: Detect, number: str, name: str
) -> None:
    gpu = detect_machine({"cpus": CPUS, "files": {**MEMORY, **intel_gpu(number)}}).gpus[0]
    assert (gpu.name, gpu.unified_memory, gpu.memory_bytes) == (name, False, None)
    assert any(found.what.startswith("memory of") for found in gpu.findings)


def test_the_processors_own_intel_graphics_use_main_memory(detect_machine: Detect) -> None:
    files = {**MEMORY, **intel_gpu("9bc5", "0000:00:02.0")}
    gpu = detect_machine({"cpus": CPUS, "files": files}).gpus[0]
    assert (gpu.unified_memory, gpu.memory_bytes) == (True, 128_000_000 << 10)


@pytest.mark.parametrize(("number", "unified"), [("7d55", True), ("56b3", False)])
def test_without_the_bus_the_id_decides(detect_machine: Detect, number: str, *, unified: bool) -> None:
    base = "/sys/class/drm/card0/device"
    files = {**MEMORY, f"{base}/vendor": "0x8086\n", f"{base}/device": f"0x{number}\n"}
    assert detect_machine({"cpus": CPUS, "files": files}).gpus[0].unified_memory is unified


@pytest.mark.parametrize(("number", "laptop"), [("4907", False), ("5690", True), ("e20b", False)])
def test_a_servers_m_is_not_a_laptops(detect_machine: Detect, number: str, *, laptop: bool) -> None:
    gpu = detect_machine({"cpus": CPUS, "files": {**MEMORY, **intel_gpu(number)}}).gpus[0]
    assert gpu.laptop is laptop
