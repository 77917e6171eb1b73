"""From the hardware columns of measured rows to devices, hosts and links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from estimator.app.case_systems import system_of
from estimator.calibrate.case import Case, interpret
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.rows import read_rows

if TYPE_CHECKING:
    from estimator.hardware.system import System

ROOT = Path(__file__).parents[2]
TABLES = read_alias_tables(ROOT / "profiles" / "aliases")
ROW = next(
    row
    for row in read_rows(ROOT / "tests" / "golden" / "evaluate" / "rows.csv")
    if row.source_id == "timm_train"
)


def system(device: str, count: int, *, hosts: int, interconnect: str) -> System:
    row = replace(ROW, device=device, devices=count, num_nodes=str(hosts), interconnect=interconnect)
    case = interpret(row, TABLES)
    assert isinstance(case, Case), case
    return system_of(case, TABLES).system


@pytest.mark.parametrize(
    ("interconnect", "gigabytes"),
    [
        ("NVLink4/NVSwitch 900GB/s + 8x400Gb IB (Eos class)", 360),
        ("net: Storage: 2x ConnectX-6 IB HDR 200Gb/sec, Compute: 4x ConnectX-6 IB HDR 200Gb/Sec", 90),
        ("net: Management: 1x Bluefield-2 DPU Ethernet 100Gb/Sec, Compute: 8x CX-7 NDR 400Gb/s", 360),
        ("NVSwitch | net: 8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC", 360),
        ("NVLink4/NVSwitch; inter-node RDMA 400Gb/s per GPU", 360),
        ("NVLink3/NVSwitch + 800 Gbps (4xHDR200 IB) per node", 90),
    ],
)  # fmt: skip
def test_the_network_that_carries_gradients_is_read(interconnect: str, gigabytes: float) -> None:
    found = system("NVIDIA H100-80GB SXM", 32, hosts=4, interconnect=interconnect)
    assert found.between is not None
    assert found.between.bus_bytes_per_s == pytest.approx(gigabytes * 1e9, rel=0.01)


def test_a_rack_is_one_node_with_the_ports_of_all_its_hosts() -> None:
    found = system("NVIDIA GB200", 144, hosts=36, interconnect="NVLink5 | net: 4x ConnectX-7 IB NDR 400Gb/s")
    assert found.nodes == 2
    assert found.between is not None
    assert found.between.bus_bytes_per_s == pytest.approx(72 * 45e9)


def test_a_pod_has_no_network_between_hosts() -> None:
    found = system("Google TPU v4", 512, hosts=64, interconnect="TPU ICI")
    assert (found.nodes, found.between) == (1, None)
    assert found.within is not None
    assert found.within.id == "tpu-v4-ici"


def test_a_bridge_joins_pairs_only() -> None:
    names = [
        link.id
        for count in (2, 4)
        if (link := system("NVIDIA RTX 2080 Ti", count, hosts=1, interconnect="NVLink bridge").within)
    ]
    assert names == ["nvlink-bridge-2", "pcie3"]
