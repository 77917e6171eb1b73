"""What joins devices: profiles, names, and the usual one of a device."""

from __future__ import annotations

import pytest

from estimator.catalog.interconnects import all_interconnects, load_interconnect, usual_interconnect
from estimator.catalog.lookup import load_device
from estimator.errors import InputError
from estimator.provenance import Basis


def test_every_interconnect_has_a_source_and_possible_figures() -> None:
    found = all_interconnects()
    assert len(found) >= 20
    for link in found:
        assert link.provenance is not None
        assert link.provenance.source
        assert 0.05e9 < link.bus_bytes_per_s < 1e12
        assert 0 <= link.alpha_s < 1e-3
        assert link.provenance.basis is not Basis.ASSUMED or link.provenance.note


@pytest.mark.parametrize(("count", "milliseconds"), [(2, 5.6), (4, 7.4), (8, 8.2)])
def test_all_reduce_of_a_gibibyte_on_a100_takes_what_was_measured(count: int, milliseconds: float) -> None:
    # busbw at 1 GiB: 197.3, 221.9 and 229.4 GB/s for 2, 4 and 8 devices.
    link = load_interconnect("nvlink3")
    bus = link.bus_bytes_per_s * (1 - link.ramp / count)
    time_s = link.alpha_s + link.alpha_per_device_s * count + 2 * (count - 1) / count * 2**30 / bus
    assert time_s * 1e3 == pytest.approx(milliseconds, rel=0.03)


@pytest.mark.parametrize(
    ("device", "link"),
    [
        ("A100-SXM4-80GB", "nvlink3-nvswitch"),
        ("A100-PCIE-40GB", "pcie4"),
        ("RTX 4090", "pcie4"),
        ("GTX 1080 Ti", "pcie3"),
        ("V100-SXM2-16GB", "nvlink2"),
        ("H100 SXM", "nvlink4-nvswitch"),
        ("H800 SXM", "nvlink4-h800"),
        ("MI300X", "infinity-fabric-3"),
        ("MI355X", "infinity-fabric-4"),
        ("GB200 NVL72", "nvlink5-nvl72"),
        ("TPU v4", "tpu-v4-ici"),
        ("Gaudi2", "gaudi2-roce"),
        ("Ascend 910", "ascend-hccs"),
        ("Trainium1", "neuronlink-2"),
    ],
)
def test_usual_interconnect_is_an_assumption(device: str, link: str) -> None:
    usual = usual_interconnect(load_device(device))
    assert usual is not None
    found, assumption = usual
    assert found.id == link
    assert assumption.what == "interconnect"


def test_a_pod_is_one_domain() -> None:
    assert {name: load_interconnect(name).domain for name in ("nvl72", "tpu-v4-ici", "nvlink4")} == {
        "nvl72": 72, "tpu-v4-ici": 4096, "nvlink4": None,
    }  # fmt: skip


def test_what_joins_apple_gpus_is_unknown() -> None:
    assert usual_interconnect(load_device("m1-gpu-8")) is None


def test_unknown_interconnect_has_a_suggestion() -> None:
    with pytest.raises(InputError, match="unknown interconnect") as caught:
        load_interconnect("nvlink33-nvswitch")
    assert caught.value.hint == "did you mean 'nvlink3-nvswitch'?"
