from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog.interconnects import load_interconnect
from estimator.errors import InputError
from estimator.hardware.system import Interconnect, System
from estimator.predict.collectives import data_parallel_s, exchange_s, ring_s

if TYPE_CHECKING:
    from estimator.hardware.device import Device

SLOW = Interconnect(id="e", name="e", alpha_s=50e-6, alpha_per_device_s=0.0, bus_bytes_per_s=1e9)


@pytest.mark.parametrize(("devices", "seconds"), [(2, 5.62e-3), (8, 8.35e-3)])
def test_all_reduce_on_a100_nvlink_is_what_was_measured(devices: int, seconds: float) -> None:
    """1 GiB over NVSwitch: 193 and 227 GB/s of bus bandwidth (vTrain's tables)."""
    link = load_interconnect("nvlink3")
    assert ring_s("all_reduce", 2**30, devices, link) == pytest.approx(seconds, rel=0.03)


def test_a_ring_in_a_mesh_is_as_fast_as_the_links_it_finds() -> None:
    """V100 in a DGX-1: bus bandwidths at 1 GiB that vTrain measured."""
    mesh = load_interconnect("nvlink2")
    seconds = {n: ring_s("all_reduce", 2**30, n, mesh) for n in (2, 4, 5, 8)}
    assert seconds[5] > 2 * seconds[4] > 2 * seconds[8]
    assert seconds[2] == pytest.approx(2**30 / 22.6e9, rel=0.01)
    twice = mesh.faster(2)
    assert (twice.rate(2), twice.rate(9)) == (2 * mesh.rate(2), 2 * mesh.rate(9))
    assert twice.name == f"2 x {mesh.name}"


def test_gathering_moves_half_of_what_reducing_moves() -> None:
    both = ring_s("all_reduce", 1e9, 4, SLOW) - 50e-6
    assert ring_s("all_gather", 1e9, 4, SLOW) - 50e-6 == pytest.approx(both / 2)
    assert ring_s("reduce_scatter", 1e9, 1, SLOW) == 0.0
    with pytest.raises(InputError, match="unknown collective"):
        ring_s("gossip", 1e9, 4, SLOW)


def test_nodes_are_the_limit_when_their_link_is_slow(v100: Device) -> None:
    fast = load_interconnect("nvlink2")
    inside = System(device=v100, count=8, within=fast)
    across = System(device=v100, count=16, nodes=2, within=fast, between=SLOW)
    assert exchange_s("all_reduce", 1e8, across) > 10 * exchange_s("all_reduce", 1e8, inside)
    with pytest.raises(InputError, match="evenly"):
        exchange_s("all_reduce", 1e8, System(device=v100, count=7, nodes=2, within=fast, between=SLOW))


def test_exposure() -> None:
    assert data_parallel_s(1.0, 0.2, 1, exposure=0.5, straggler=0.01) == (1.0, 0.1)
    _, exposed = data_parallel_s(1.0, 0.2, 8, exposure=0.5, straggler=0.01)
    assert exposed == pytest.approx(0.13)


def test_what_takes_longer_than_the_backward_pass_is_seen() -> None:
    _, exposed = data_parallel_s(0.3, 1.0, 2, exposure=0.5, straggler=0.0)
    assert exposed == pytest.approx(1.0 - 0.2)
