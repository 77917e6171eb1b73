"""Finding devices by the names people, drivers and clouds use."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from estimator.catalog.labels import resolve_label, unresolvable_labels
from estimator.catalog.lookup import (
    all_devices,
    architecture_for_nvidia,
    architecture_for_target,
    arm_architecture,
    cpu_architecture,
    load_architecture,
    load_device,
    parse_device_spec,
    resolve_device,
)
from estimator.catalog.names import split_count, words
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.provenance import Basis

LABELS = Path(__file__).parents[1] / "golden" / "device_labels.csv"


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("rtx-4090", "rtx-4090"),
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 24GB", "rtx-4090"),
        ("RTX 2080Ti", "rtx-2080-ti"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("A100-80GB SXM", "a100-sxm-80gb"),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "rtx-3080-laptop"),
        ("RTX 3080 12GB", "rtx-3080-12gb"),
        ("RTX 3080 10GB", "rtx-3080"),
        ("GeForce RTX 2080 Super with Max-Q Design", "rtx-2080-super-max-q"),
        ("TITAN X (Pascal)", "titan-x-pascal"),
        ("GeForce GTX TITAN X", "titan-x-maxwell"),
        ("Tesla M4", "tesla-m4"),
        ("10de:1b06", "gtx-1080-ti"),
        ("10DE:1B06", "gtx-1080-ti"),
        ("0x10de:0x1b06", "gtx-1080-ti"),
        ("0x10DE:1B06", "gtx-1080-ti"),
        ("7900XTX", "rx-7900-xtx"),
        ("AMD Instinct MI300X", "mi300x"),
        ("Intel Arc A770 16GB", "arc-a770"),
        ("Apple M2 Max GPU (38 core)", "m2-max-gpu-38"),
        ("aws:p3.2xlarge", "v100-sxm2-16gb"),
        ("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", "i7-8550u"),
        ("12th Gen Intel(R) Core(TM) i7-12700H", "i7-12700h"),
        ("AMD EPYC 7763 64-Core Processor", "epyc-7763"),
        ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "xeon-e5-2686-v4"),
    ],
)
def test_one_device_by_any_of_its_names(name: str, id_: str) -> None:
    assert load_device(name).id == id_


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("RTX 4909", "RTX 4090"),
        ("GTX 1080 Tii", "GTX 1080 Ti"),
        ("rtx-3091", "rtx-309"),
        ("aws:p3.3xlarge", "aws:p3."),
        ("p3.2xlarge", "'aws:p3.2xlarge'"),
        ("rtx 4090 ti", "'NVIDIA GeForce RTX 4090'"),
        ("cpu", "this machine's"),
        ("GPU", "this machine's"),
        ("V100 SXM2 16GP", "V100 SXM2 16GB"),
    ],
)
def test_near_misses_are_suggestions_and_never_answers(name: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        load_device(name)
    assert "unknown" in caught.value.message
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["0x1234:0x5678", "10de:ffff"])
def test_an_unknown_pci_id_is_said_to_be_one(name: str) -> None:
    with pytest.raises(InputError, match="PCI id"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["", "  ", "GPU", "nvidia", "x", "2x", "0x RTX 4090", "RTX 4090 48GB"])
def test_nonsense_and_unknown_variants_are_errors(name: str) -> None:
    with pytest.raises(InputError):
        resolve_device(name)


@pytest.mark.parametrize("name", ["A100", "V100", "H100", "TITAN X", "M1 Pro GPU", "V100-16GB"])
def test_a_name_that_leaves_the_variant_open_is_refused_or_said(name: str) -> None:
    with pytest.raises(InputError, match="leaves the variant open") as caught:
        load_device(name)
    resolution = resolve_device(name)
    (assumption,) = resolution.assumptions
    assert assumption.value == resolution.device.name
    assert caught.value.hint is not None
    assert resolution.device.id in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "count", "id_"),
    [
        ("2x RTX 4090", 2, "rtx-4090"),
        ("2 x RTX 4090", 2, "rtx-4090"),
        ("8xH100 SXM", 8, "h100-sxm"),
        ("RTX 3090 x4", 4, "rtx-3090"),
        ("8\u00d7 T4", 8, "t4"),
        ("RTX 4090", 1, "rtx-4090"),
        ("aws:p3.16xlarge", 8, "v100-sxm2-16gb"),
        ("4x aws:p4d.24xlarge", 32, "a100-sxm-40gb"),
        ("gcp:a2-highgpu-4g", 4, "a100-sxm-40gb"),
        ("azure:Standard_NC24s_v3", 4, "v100-pcie-16gb"),
        ("azure:NC6", 1, "tesla-k80"),
    ],
)
def test_counts(spec: str, count: int, id_: str) -> None:
    found_count, device = parse_device_spec(spec)
    assert (found_count, device.id) == (count, id_)


def test_one_device_is_not_eight() -> None:
    with pytest.raises(InputError, match="is 8 x"):
        load_device("aws:p3.16xlarge")


def test_two_cpus_are_one_host_of_two_sockets() -> None:
    one = load_device("Xeon Gold 6148")
    count, host = parse_device_spec("2x Xeon Gold 6148")
    assert count == 1
    assert (host.sockets, host.units, host.threads) == (2, 40, 80)
    assert host.bandwidth_bytes_per_s == pytest.approx(2 * 127.968e9)
    assert host.peaks.vector["fp32"] == pytest.approx(2 * one.peaks.vector["fp32"])  # type: ignore[index]


def test_a_slice_of_a_host_does_not_get_the_bandwidth_of_the_socket() -> None:
    resolution = resolve_device("aws:c5.2xlarge")
    device = resolution.device
    assert (device.units, device.threads) == (4, 8)
    assert device.bandwidth_bytes_per_s is not None
    assert device.bandwidth_bytes_per_s < 64e9  # the socket has 128
    assert device.provenance["bandwidth_bytes_per_s"].basis is Basis.ASSUMED
    assert any("bandwidth" in assumption.what for assumption in resolution.assumptions)


def test_a_whole_host_gets_all_its_sockets() -> None:
    device = resolve_device("aws:c5.18xlarge").device
    assert (device.sockets, device.units) == (2, 36)
    assert device.bandwidth_bytes_per_s == pytest.approx(2 * 127.968e9)


def test_every_measured_label_resolves_as_recorded_or_has_a_reason() -> None:
    unresolvable = unresolvable_labels()
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 200
    for row in rows:
        if not row["device"]:
            assert unresolvable[row["label"]]
            with pytest.raises(InputError, match="no device for"):
                resolve_label(row["label"])
            continue
        resolution = resolve_label(row["label"])
        assert resolution.device.id == row["device"], row["label"]
        assert resolution.count == int(row["count"]), row["label"]
        assert bool(resolution.assumptions) == (row["assumed"] == "yes"), row["label"]


def test_nearly_all_measured_rows_have_a_device() -> None:
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    covered = sum(int(row["rows"]) for row in rows if row["device"])
    assert covered / sum(int(row["rows"]) for row in rows) > 0.995


def test_a_label_can_say_how_many_cores_work() -> None:
    device = resolve_label("CPU: 2x Intel Xeon Gold 6148 (40 cores), 8 thread(s) used").device
    whole = resolve_label("CPU: 2x Intel Xeon Gold 6148 (40 cores, 2.4 GHz)").device
    assert (device.units, whole.units) == (8, 40)
    assert device.bandwidth_bytes_per_s == whole.bandwidth_bytes_per_s


@pytest.mark.parametrize(
    ("target", "name", "id_"),
    [
        ("7.5", "NVIDIA GeForce GTX 1660 Ti", "turing-gtx"),
        ("7.5", "NVIDIA GeForce RTX 2070", "turing-geforce"),
        ("7.5", "Quadro RTX 8000", "turing-pro"),
        ("7.5", "Tesla T4", "turing-pro"),
        ("7.5", "NVIDIA TITAN RTX", "turing-pro"),
        ("8.6", "NVIDIA GeForce RTX 3090", "ampere-ga10x-geforce"),
        ("8.6", "NVIDIA RTX A6000", "ampere-ga10x-pro"),
        ("8.9", "NVIDIA GeForce RTX 4090", "ada-geforce"),
        ("8.0", "NVIDIA A100-SXM4-40GB", "ampere-ga100"),
        ("9.0", "NVIDIA H100 80GB HBM3", "hopper-gh100"),
        ("3.5", "Tesla K40m", "kepler-gk110-tesla"),
        ("3.5", "GeForce GTX 780", "kepler-gk110-geforce"),
        ("3.5", "GeForce GTX TITAN Black", "kepler-gk110-tesla"),
        ("6.1", "GeForce GTX 1080 Ti", "pascal-gp10x"),
        ("12.0", "NVIDIA GeForce RTX 5090", "blackwell-gb20x-geforce"),
        ("12.0", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "blackwell-gb20x-pro"),
    ],
)
def test_architecture_of_an_nvidia_gpu(target: str, name: str, id_: str) -> None:
    found = architecture_for_nvidia(target, name)
    assert found is not None
    assert found.id == id_


def test_an_unknown_or_undecided_target_has_no_architecture() -> None:
    assert architecture_for_target("99.9") is None
    assert architecture_for_target("8.6") is None
    shared = architecture_for_target("8.6", geforce=True)
    assert shared is not None
    assert shared.market == "geforce"


@pytest.mark.parametrize(
    ("vendor", "family", "model", "stepping", "id_"),
    [
        ("intel", 6, 0x3F, 2, "haswell"),
        ("intel", 6, 0x55, 4, "skylake-sp"),
        ("intel", 6, 0x55, 7, "cascade-lake"),
        ("intel", 6, 0x55, 11, "cooper-lake"),
        ("intel", 6, 0x2D, 7, "sandy-bridge"),
        ("intel", 6, 0x8F, 8, "sapphire-rapids"),
        ("intel", 6, 0x97, 2, "golden-cove"),
        ("amd", 23, 0x01, 2, "zen"),
        ("amd", 23, 0x31, 0, "zen2"),
        ("amd", 25, 0x01, 1, "zen3"),
        ("amd", 25, 0x11, 1, "zen4"),
        ("amd", 26, 0x02, 1, "zen5"),
        ("amd", 26, 0x24, 0, "zen5-mobile"),
        ("amd", 21, 0x02, 0, "bulldozer"),
    ],
)
def test_cpu_by_family_and_model(vendor: str, family: int, model: int, stepping: int, id_: str) -> None:
    found = cpu_architecture(vendor, family, model, stepping)
    assert found is not None
    assert found.id == id_


def test_unknown_cpus_are_none() -> None:
    assert cpu_architecture("intel", 6, 0x01) is None
    assert cpu_architecture("amd", 6, 0x3F) is None
    assert arm_architecture("0x41", "0xfff") is None


@pytest.mark.parametrize(
    ("implementer", "part", "id_"),
    [("0x41", "0xd0c", "neoverse-n1"), ("0x41", "0xD4F", "neoverse-v2"), ("0x46", "0x001", "a64fx")],
)
def test_arm_by_part(implementer: str, part: str, id_: str) -> None:
    found = arm_architecture(implementer, part)
    assert found is not None
    assert found.id == id_


@pytest.mark.parametrize(
    ("alias", "id_"), [("neoverse_n1", "neoverse-n1"), ("zen4", "zen4"), ("icelake", "ice-lake-client")]
)
def test_architecture_by_the_name_others_use(alias: str, id_: str) -> None:
    assert load_architecture(alias).id == id_


def test_unknown_architecture_has_a_suggestion() -> None:
    with pytest.raises(InputError, match="unknown architecture") as caught:
        load_architecture("hopper-gh10")
    assert caught.value.hint == "did you mean 'hopper-gh100'?"


def test_every_target_of_one_architecture_alone_finds_it() -> None:
    for device in all_devices():
        if device.kind is DeviceKind.GPU and device.vendor == "nvidia":
            found = architecture_for_nvidia(device.architecture.targets[0], device.name)
            # The L40, the A10G and cut-down parts have rates that their capability does not tell.
            known = {"l40", "l20", "a10g", "h20", "h800-sxm", "h800-pcie"}
            assert device.id in known or (found is not None and found.id == device.architecture.id), device.id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NVIDIA V100-16GB SXM (AWS p3)", ("16gb", "sxm", "v100")),
        ("P100 (form factor unstated)", ("p100",)),
        ("GeForce RTX 4060Ti 16 GB", ("16gb", "4060", "rtx", "ti")),
        ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", ("2680", "e5", "v3", "xeon")),
        ("Apple M1 GPU (7-core)", ("7core", "gpu", "m1")),
    ],
)
def test_words_of_a_name(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize("text", ["RTX 4090", "7900 XTX", "x4", "aws:p3.2xlarge"])
def test_names_without_a_count(text: str) -> None:
    assert split_count(text) is None


@pytest.mark.parametrize(
    ("label", "id_"),
    [("NVIDIA RTX 3090 (my old workstation)", "rtx-3090"), ("Intel i9-13900K (WSL2)", "i9-13900k")],
)
def test_an_aside_of_a_label_is_skipped_and_that_is_said(label: str, id_: str) -> None:
    resolution = resolve_label(label)
    assert resolution.device.id == id_
    assert "is no part of a name" in resolution.assumptions[-1].why


@pytest.mark.parametrize(
    "label", ["NVIDIA RTX 4090 (48 GB)", "RTX 9090 (water cooled)", "RTX 5080 (laptop part)"]
)
def test_an_aside_that_names_a_variant_is_not_skipped(label: str) -> None:
    with pytest.raises(InputError):
        resolve_label(label)
