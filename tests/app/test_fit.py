"""What a device holds of a step: context by year, what the driver keeps, and shards."""

from __future__ import annotations

import pytest

from estimator.app.fit import memory_summary, sharded, usable_bytes
from estimator.catalog.labels import resolve_label
from estimator.catalog.networks import load_network
from estimator.networks.lowering import lower
from estimator.networks.optimizers import OPTIMIZERS
from estimator.networks.training import Training
from estimator.precision import POLICIES
from estimator.predict.layout import Parallelism
from estimator.workload.workload import Footprint

NOTHING = Footprint(weights_bytes=0, gradients_bytes=0, optimizer_bytes=0, activations_bytes=0, other_bytes=0)


@pytest.mark.parametrize(
    ("device", "reported_gib"),
    [("v100-sxm2-16gb", 15.78), ("rtx-3090", 23.70), ("a100-sxm-40gb", 39.56), ("a100-sxm-80gb", 79.15)],
)
def test_the_driver_keeps_what_cuda_does_not_report(device: str, reported_gib: float) -> None:
    assert (usable_bytes(resolve_label(device).device) or 0) / 2**30 == pytest.approx(reported_gib, rel=3e-3)


def test_cuda_held_all_kernels_before_it_loaded_them_lazily() -> None:
    device = resolve_label("rtx-3090").device
    held = {
        year: memory_summary(NOTHING, NOTHING, device, 1, year).total_bytes for year in (2018, 2021, 2024)
    }
    assert held == {2018: 600_000_000, 2021: 1_100_000_000, 2024: 600_000_000}


def test_shards_stay_in_fp32_and_blocks_are_gathered_in_half_precision() -> None:
    policy = POLICIES.get("bf16")
    training = Training(batch=1, precision=policy, optimizer=OPTIMIZERS.get("adamw"))
    work = lower(load_network("gpt2"), training)
    one = sharded(work, policy, Parallelism(data=8, sharding="fsdp"))
    weights = 124_439_808  # of GPT-2: 12 blocks of 7,087,872, the rest belongs to none
    block, loose = 7_087_872, 124_439_808 - 12 * 7_087_872
    assert one.weights_bytes == 4 * weights / 8
    assert one.gradients_bytes == 4 * weights / 8
    assert one.optimizer_bytes == 8 * weights / 8
    assert one.activations_bytes == work.footprint.activations_bytes
    assert one.other_bytes - work.footprint.other_bytes == 2 * (3 * block + 2 * loose)


def test_zero_spreads_the_state_of_the_optimizer_alone() -> None:
    policy = POLICIES.get("amp")
    work = lower(load_network("gpt2"), Training(batch=1, precision=policy, optimizer=OPTIMIZERS.get("adam")))
    one = sharded(work, policy, Parallelism(data=4, sharding="zero1"))
    assert one.optimizer_bytes * 4 == work.footprint.optimizer_bytes
    assert one.weights_bytes == work.footprint.weights_bytes
    assert sharded(work, policy, Parallelism(data=4)) == work.footprint
