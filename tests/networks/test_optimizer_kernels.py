"""What updates move: tensors by rule, one pass in tuned code, fp32 copies of half-precision weights."""

from __future__ import annotations

import pytest

from estimator.networks.optimizers import OPTIMIZERS, state_bytes, update_kernels
from estimator.precision import POLICIES
from estimator.software import OptimizerKernels, Software

SIZES = (1 << 20, 1 << 20)


def moved(policy: str, kernels: OptimizerKernels, *, era: int = 2025, rule: str = "adam") -> tuple[int, int]:
    """Return bytes an element and launches of one update."""
    found = update_kernels(
        OPTIMIZERS.get(rule), SIZES, POLICIES.get(policy), Software(optimizer=kernels, era=era)
    )
    return sum(k.bytes for k in found) // sum(SIZES), sum(k.launches for k in found)


@pytest.mark.parametrize("era", [2020, 2025])
def test_one_pass_whatever_the_year(era: int) -> None:
    # Adam reads gradient, weight and two moments and writes three of them, 4 bytes each.
    assert moved("fp32", OptimizerKernels.FUSED, era=era) == (28, 1)
    assert moved("fp32", OptimizerKernels.FUSED, era=era, rule="sgd") == (12, 1)


def test_half_precision_weights_have_full_precision_copies() -> None:
    assert moved("bf16", OptimizerKernels.FUSED) == (30, 1)
    assert moved("fp16", OptimizerKernels.FUSED) == (34, 2)  # and a look at the gradients for infinities


def test_old_eager_frameworks_go_from_tensor_to_tensor() -> None:
    old, launches = moved("fp32", OptimizerKernels.SINGLE, era=2020)
    new, _ = moved("fp32", OptimizerKernels.FOREACH)
    assert old == new + 16  # gradients are zeroed and added to
    assert launches == 2 * (2 + 7)


def test_lamb_looks_at_norms_before_it_updates() -> None:
    # Gradient; gradient, weight and moments to moments and update; weight; update; both to the weight.
    assert moved("fp32", OptimizerKernels.FUSED, rule="lamb") == (4 * (1 + 7 + 1 + 1 + 3), 5)
    adam, _ = moved("fp32", OptimizerKernels.FOREACH)
    lamb, _ = moved("fp32", OptimizerKernels.FOREACH, rule="lamb")
    assert lamb > adam


def test_without_loss_scaling_nobody_looks_for_infinities() -> None:
    scaled, passes = moved("amp", OptimizerKernels.FOREACH)
    plain, fewer = moved("amp-unscaled", OptimizerKernels.FOREACH)
    assert (scaled - plain, passes - fewer) == (8, 1)
    assert moved("amp-unscaled", OptimizerKernels.FOREACH) == moved("amp-bf16", OptimizerKernels.FOREACH)


def test_master_weights_are_updated_and_copied_back() -> None:
    """Gradients of 2 bytes to 4 (6), Adam in fp32, 4 bytes to weights of 2 (6)."""
    halves, launches = moved("fp16-master", OptimizerKernels.FOREACH)
    single, fewer = moved("fp32", OptimizerKernels.FOREACH)
    assert (halves - single, launches - fewer) == (12, 2)
    rule, policies = OPTIMIZERS.get("adam"), (POLICIES.get("fp16-master"), POLICIES.get("fp32"))
    assert [state_bytes(rule, 1000, policy) for policy in policies] == [12_000, 8_000]
