"""A detected device is matched strictly, or not at all with the reason."""

from __future__ import annotations

import pytest

from estimator.catalog.match import explain_match, match_detected

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "pci_id", "memory_gib", "units", "id_"),
    [
        ("NVIDIA GeForce RTX 4090", "10de:2684", 23.99, 128, "rtx-4090"),
        ("NVIDIA GeForce RTX 3080", "10de:2206", 9.8, 68, "rtx-3080"),
        ("NVIDIA GeForce RTX 3080", None, 11.9, 70, "rtx-3080-12gb"),
        ("NVIDIA GeForce RTX 3080", None, None, 68, "rtx-3080"),
        ("Arc A770", "8086:56a0", 15.9, None, "arc-a770"),
        ("GeForce GTX 1060", None, 5.9, 10, "gtx-1060"),
        ("GeForce GTX 1060", None, 2.95, 9, "gtx-1060-3gb"),
        ("GeForce GTX 1070", "10de:1be1", 7.9, 16, "gtx-1070-laptop"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "10de:24dc", 15.9, 48, "rtx-3080-laptop-16gb"),
        ("Tesla K80", "10de:102d", 11.2, 13, "tesla-k80"),
        ("NVIDIA H100 80GB HBM3", "10de:2330", 79.6, 132, "h100-sxm"),
        ("NVIDIA GB10", None, None, 48, "gb10"),
        ("NVIDIA A100-SXM4-80GB", None, 79.2, 108, "a100-sxm-80gb"),
        ("", "1002:74a1", 191.9, 304, "mi300x"),
        ("AMD Radeon RX Vega", "1002:687f", 7.98, 64, "rx-vega-64"),
        ("AMD Radeon RX Vega", "1002:687f", 7.98, 56, "rx-vega-56"),
        ("", "1002:75a3", 287.9, 256, "mi355x"),
        ("", "1002:747e", 15.98, 60, "rx-7800-xt"),
        ("", "1002:747e", 11.98, 54, "rx-7700-xt"),
        ("AMD Radeon 780M Graphics", "1002:15bf", None, 12, "radeon-780m"),
        ("Arc Pro B60", "8086:e211", None, None, "arc-pro-b60"),
    ],
)
def test_recognised(
    name: str, pci_id: str | None, memory_gib: float | None, units: int | None, id_: str
) -> None:
    memory = None if memory_gib is None else round(memory_gib * GIB)
    match = explain_match(name, pci_id, memory_bytes=memory, units=units)
    assert match.device is not None, match.reason
    assert match.device.id == id_


@pytest.mark.parametrize(
    ("name", "pci_id", "memory_gib", "units", "reason"),
    [
        ("NVIDIA GeForce RTX 9090", None, None, None, "not in the catalogue"),
        ("NVIDIA GeForce RTX 4090", None, 48.0, 128, "memory or number of units differ"),
        ("NVIDIA GeForce RTX 4090", None, 24.0, 100, "memory or number of units differ"),
        ("NVIDIA GeForce RTX 4090", "10de:1b06", None, None, "PCI id"),
        ("NVIDIA A100", None, None, None, "can be any of"),
        ("NVIDIA GeForce RTX 3080", None, None, None, "can be any of rtx-3080, rtx-3080-12gb"),
        ("Arc A770", "8086:56a0", None, None, "can be any of arc-a770, arc-a770-8gb"),
        ("", None, None, None, "not in the catalogue"),
        ("Graphics Device", None, None, None, "not in the catalogue"),
    ],
)
def test_not_recognised(
    name: str, pci_id: str | None, memory_gib: float | None, units: int | None, reason: str
) -> None:
    memory = None if memory_gib is None else round(memory_gib * GIB)
    match = explain_match(name, pci_id, memory_bytes=memory, units=units)
    assert match.device is None
    assert reason in match.reason
    assert match_detected(name, pci_id, memory_bytes=memory, units=units) is None


@pytest.mark.parametrize(
    ("pci_id", "id_"), [(None, None), ("10de:1c20", "gtx-1060-laptop"), ("10de:1c03", "gtx-1060")]
)
def test_in_a_laptop_the_pci_id_decides(pci_id: str | None, id_: str | None) -> None:
    """Old drivers call both ``GeForce GTX 1060``; memory and SMs are the same."""
    memory = 6 * GIB
    match = explain_match("GeForce GTX 1060", pci_id, memory_bytes=memory, units=10, laptop_too=True)
    assert (match.device and match.device.id) == id_
    assert id_ or "can be any of gtx-1060, gtx-1060-laptop" in match.reason
