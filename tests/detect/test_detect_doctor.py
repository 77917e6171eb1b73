"""The doctor's record: it gives the same facts again, and nothing in it names a person or a machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from estimator.detect import detect_host
from estimator.detect.doctor import dump, record_host, write_record
from estimator.detect.host import detect_with
from estimator.detect.recording import Recording, load_nvml, load_recording
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from estimator.detect import GpuFacts, HostFacts

MACHINES = sorted((Path(__file__).parent.parent / "machines").glob("*.yaml"))


def anonymous(host: HostFacts) -> HostFacts:
    """Return the facts without device UUIDs and the findings that quote them."""

    def without(gpus: tuple[GpuFacts, ...]) -> tuple[GpuFacts, ...]:
        return tuple(replace(gpu, uuid=None) for gpu in gpus)

    findings = tuple(found for found in host.findings if "VISIBLE_DEVICES" not in found.why)
    return replace(host, gpus=without(host.gpus), hidden_gpus=without(host.hidden_gpus), findings=findings)


@pytest.mark.parametrize("path", MACHINES, ids=[path.stem for path in MACHINES])
def test_a_record_is_a_recorded_machine(
    path: Path, recording_of: Callable[[Mapping[str, Any]], Recording], tmp_path: Path
) -> None:
    recording = recording_of(yaml.safe_load(path.read_text(encoding="utf-8")))
    written = tmp_path / "record.yaml"
    written.write_text(dump(record_host(recording.seams(), names=["somebody"])), encoding="utf-8")
    assert anonymous(detect_host(root=written)) == anonymous(detect_with(recording.seams()))


def test_the_live_host(tmp_path: Path) -> None:
    written = tmp_path / "record.yaml"
    written.write_text(write_record(), encoding="utf-8")
    again, live = detect_host(root=written), detect_host()
    assert again.cpu.physical_cores == live.cpu.physical_cores
    assert (again.cpu.lanes, again.cpu.caches) == (live.cpu.lanes, live.cpu.caches)
    assert again.memory.total_bytes == live.memory.total_bytes
    assert len(written.read_text(encoding="utf-8")) < 60_000


SECRETS = {
    "user": "marie-curie",
    "gpu": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
    "pod": "pod3f2504e0_4f89_11d3_9a0c_0305e82c3301",
    "container": "b7f2c3d4e5f60718293a4b5c6d7e8f90",
    "serial": "10000000cafebabe",
    "display": "C02XL0GYJGH5",
    "unique": "8077445599220011",
}
HOME = f"/home/{SECRETS['user']}"
POD = f"{HOME}/kubepods-{SECRETS['pod']}.slice"
RECORD = {
    "files": {
        "/proc/cpuinfo": f"processor\t: 0\nCPU part\t: 0xd03\n\nSerial\t\t: {SECRETS['serial']}\n",
        "/proc/self/cgroup": f"0::{POD}/{SECRETS['container']}\n",
        f"/sys/fs/cgroup{HOME}/cpu.max": "50000 100000\n",
        f"/sys/fs/cgroup{POD}/memory.max": "137438953472\n",
        "/proc/self/mountinfo": (
            f"1 1 0:1 / {HOME} rw - ext4 /dev/sda rw\n2 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        ),
        "/proc/version": f"Linux version 6.1 ({SECRETS['user']}@builder)\n",
        "/proc/self/status": f"Name:\t{SECRETS['user']}\nCpus_allowed_list:\t0\n",
        "/sys/class/kfd/kfd/topology/nodes/0/properties": f"simd_count 8\nunique_id {SECRETS['unique']}\n",
    },
    "environ": {"CUDA_VISIBLE_DEVICES": SECRETS["gpu"][:10], "HOME": HOME},
    "nvml": {
        "devices": [
            {
                "nvmlDeviceGetName": "T4",
                "nvmlDeviceGetUUID": "GPU-00112233-0000-0000-0000-ddddeeee0000",
            },
            {"nvmlDeviceGetName": "T4", "nvmlDeviceGetUUID": SECRETS["gpu"]},
        ]
    },
}


def test_nothing_in_it_names_a_person_or_a_machine(tmp_path: Path) -> None:
    seams = Recording(**RECORD).seams()  # type: ignore[arg-type]
    text = write_record(seams=seams, names=[SECRETS["user"]])
    for what, secret in SECRETS.items():
        assert secret not in text, what
        assert secret.split("-")[-1] not in text, what
    written = tmp_path / "record.yaml"
    written.write_text(text, encoding="utf-8")
    host = detect_host(root=written)
    # Stand-ins still fit together: the mask names the second GPU, the group path its limits.
    assert [gpu.index for gpu in host.gpus if gpu.vendor == "NVIDIA"] == [1]
    assert host.cpu.quota_cpus == 0.5
    assert host.memory.usable_bytes == 137438953472


def test_words_of_people_in_group_paths_and_firmware_are_left_out(tmp_path: Path) -> None:
    """Desktops name a group after what runs in it, and some firmware the machine after its owner."""
    inner = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-alice-bob.scope"
    files = {
        "/proc/self/cgroup": f"0::{inner}\n",
        "/proc/self/mountinfo": f"2 1 0:2 {inner} /sys/fs/cgroup/secret-place rw - cgroup2 cgroup2 rw\n",
        f"/sys/fs/cgroup{inner}/cpu.max": "50000 100000\n",
        "/sys/fs/cgroup/secret-place/memory.max": "137438953472\n",
        "/sys/class/dmi/id/product_name": "Alice's Gaming Rig\n",
    }
    text = write_record(seams=Recording(files=files).seams(), names=[])
    for secret in ("alice", "Alice", "bob", "secret-place", "Gaming"):
        assert secret not in text
    assert "user@1000.service/app.slice/name" in text
    written = tmp_path / "record.yaml"
    written.write_text(text, encoding="utf-8")
    host = detect_host(root=written)
    assert (host.cpu.quota_cpus, host.memory.cgroup_limit_bytes) == (0.5, 137438953472)


def test_a_hypervisors_product_is_kept(tmp_path: Path) -> None:
    files = {"/sys/class/dmi/id/product_name": "Google Compute Engine\n"}
    written = tmp_path / "record.yaml"
    written.write_text(write_record(seams=Recording(files=files).seams(), names=[]), encoding="utf-8")
    assert detect_host(root=written).cpu.virtualised


def test_monitors_are_left_out(tmp_path: Path) -> None:
    display = '{"SPDisplaysDataType": [{"sppci_model": "Apple M2", "sppci_cores": "10", "spdisplays_ndrvs": '
    display += '[{"_name": "My Screen", "_spdisplays_display-serial-number": "C02XL0GYJGH5"}]}]}'
    seams = Recording(system="darwin", commands={"system_profiler SPDisplaysDataType -json": display}).seams()
    text = write_record(seams=seams, names=[])
    assert "C02XL0GYJGH5" not in text
    assert "My Screen" not in text
    written = tmp_path / "record.yaml"
    written.write_text(text, encoding="utf-8")
    assert detect_host(root=written).gpus[0].units == 10


def test_nvml_answers_alone_can_be_fed_back(tmp_path: Path) -> None:
    for name, record in (("whole", RECORD), ("alone", RECORD["nvml"])):
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(record), encoding="utf-8")
        empty = tmp_path / f"{name}-root"
        empty.mkdir()
        assert len(detect_host(root=empty, nvml=load_nvml(path)).gpus) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "not a host record"), ("- 1", "no mapping"), ("files: 3", "files is no mapping"),
        ("listings: {a: 3}", "listings is no mapping"), ("a: &x [1]\nb: *x", "aliases are not allowed"),
        ("!!python/object:os.system x", "not a host record"), ("\x00", "not a host record"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_record(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "record.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load_recording(path)


def test_binary_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    for name in ("binary", "missing"):
        with pytest.raises(InputError, match="cannot read"):
            load_recording(tmp_path / name)
