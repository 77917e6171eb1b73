"""Parts of a CPU: cores of each kind, and the channels that belong to the whole socket."""

from __future__ import annotations

import pytest

from estimator.catalog.cpu_parts import limited_to, of_sockets, slice_of, with_cores
from estimator.catalog.lookup import load_device
from estimator.precision import DType
from estimator.provenance import Basis

HYBRID = "i9-12900k"
P_RATE, E_RATE = 32 * 4.9e9, 16 * 3.7e9


@pytest.mark.parametrize(
    ("fast", "slow", "rate"),
    [
        (8, 8, 8 * P_RATE + 8 * E_RATE),
        (8, 0, 8 * P_RATE),
        (3, 2, 3 * P_RATE + 2 * E_RATE),
        (0, 8, 8 * E_RATE),
    ],
)
def test_each_kind_of_core_is_limited_by_itself(fast: float, slow: float, rate: float) -> None:
    part = limited_to(load_device(HYBRID), fast, slow)
    assert part.all_units == fast + slow
    assert part.peaks.vector[DType.FP32] == pytest.approx(rate)


@pytest.mark.parametrize(
    ("cores", "rate"), [(4, 4 * P_RATE), (10, 8 * P_RATE + 2 * E_RATE), (16, 8 * P_RATE + 8 * E_RATE)]
)
def test_work_starts_on_the_fast_cores(cores: float, rate: float) -> None:
    assert with_cores(load_device(HYBRID), cores).peaks.vector[DType.FP32] == pytest.approx(rate)


def test_two_sockets_have_the_efficiency_cores_of_both() -> None:
    one, two = load_device(HYBRID), of_sockets(load_device(HYBRID), 2)
    assert two.peaks.vector[DType.FP32] == pytest.approx(2 * one.peaks.vector[DType.FP32])


def test_threads_of_a_hybrid_are_counted_over_all_its_cores() -> None:
    """Of 24 threads, 12 are half of the 16 cores."""
    assert slice_of(load_device(HYBRID), threads=12, what="half").all_units == 8


def test_bandwidth_of_a_slice_is_not_known() -> None:
    part = limited_to(load_device("epyc-9654"), 8)
    assert part.bandwidth_bytes_per_s is None
    assert "bandwidth_bytes_per_s" not in part.provenance


def test_bandwidth_of_cores_that_fill_the_channels_is_assumed() -> None:
    whole = load_device("epyc-9654")
    part = limited_to(whole, 90)
    assert part.bandwidth_bytes_per_s == whole.bandwidth_bytes_per_s
    assert part.provenance["bandwidth_bytes_per_s"].basis is Basis.ASSUMED
