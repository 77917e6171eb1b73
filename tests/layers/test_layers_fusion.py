"""Fusion of neighbouring kernels, as compilers do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import record
from estimator.layers.fusion import fused, fused_layers
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Software
from estimator.workload.kernel import Op, Phase

if TYPE_CHECKING:
    from estimator.workload.kernel import Kernel

X = (32, 64, 14, 14)
SIZE = 32 * 64 * 14 * 14 * 4


def kernels(name: str, *, training: bool = True, **arguments: object) -> tuple[Kernel, ...]:
    cls: Any = LAYERS.get(name)
    setting = Setting(policy=POLICIES.get("fp32"), software=Software(), training=training)
    return record(cls(**arguments), (Signature(X, DType.FP32, requires_grad=True),), setting).kernels


def traffic(found: tuple[Kernel, ...], *phases: Phase) -> list[tuple[float, float]]:
    return [(k.bytes_read / SIZE, k.bytes_written / SIZE) for k in found if k.phase in phases]


def test_a_chain_reads_once_and_writes_once() -> None:
    """GPT-2's GELU, eight kernels: x is read where it is used (three times), nothing between is written."""
    chain = kernels("GELU", approximate="new", training=False)
    (one,) = fused(chain)
    assert one.op is Op.ELEMENTWISE
    assert one.bytes_written == SIZE
    assert one.bytes_read <= 4 * SIZE
    assert one.elementwise_flops == sum(k.elementwise_flops for k in chain)
    assert sum(k.bytes for k in chain) >= 17 * SIZE


def test_an_activation_joins_the_norm_before_it() -> None:
    norm, relu = fused_layers([kernels("BatchNorm2d"), kernels("ReLU")], [False, True])
    assert [k.name for k in norm if k.phase is Phase.FORWARD][-1] == "batch_norm"
    assert [k for k in relu if k.phase is Phase.FORWARD] == []
    forward = traffic(norm, Phase.FORWARD)[-1]
    assert forward[1] == 1
    assert round(forward[0]) == 2


def test_layers_that_do_not_follow_each_other_stay_apart() -> None:
    first, second = fused_layers([kernels("ReLU"), kernels("ReLU")], [False, False])
    assert (len(first), len(second)) == (2, 2)


def test_backward_chains_merge_too() -> None:
    first, second = fused_layers([kernels("ReLU"), kernels("SiLU")], [False, True])
    assert second == ()
    assert traffic(first, Phase.DGRAD) == [(3, 1)]  # the gradient and what the two activations kept


def test_products_stay_kernels_of_their_own() -> None:
    conv = kernels("Conv2d", out_channels=64, kernel_size=3, padding=1, bias=False)
    assert fused(conv) == tuple(sorted(conv, key=lambda k: k.phase is not Phase.FORWARD))
    apart, relu = fused_layers([conv, kernels("ReLU")], [False, True])
    assert apart == fused(conv)
    assert len(relu) == 2


def test_work_is_kept() -> None:
    for name in LAYERS:
        example = LAYERS.get(name).example
        cls: Any = LAYERS.get(name)
        setting = Setting(policy=POLICIES.get("amp"), software=Software())
        signatures = tuple(Signature(s, example.dtype, example.dtype.is_floating) for s in example.shapes)
        before = record(cls(**example.arguments), signatures, setting).kernels
        after = fused(before)
        assert sum(k.flops for k in after) == sum(k.flops for k in before)
        assert sum(k.elementwise_flops for k in after) == sum(k.elementwise_flops for k in before)
        assert sum(k.bytes for k in after) <= sum(k.bytes for k in before)
        assert all(k.bytes_read >= 0 and k.bytes_written >= 0 for k in after)


@pytest.mark.parametrize(("count", "op"), [(2, Op.ELEMENTWISE), (64, Op.REDUCTION)])
def test_a_reduction_of_few_is_element_wise_code(count: int, op: Op) -> None:
    """TorchInductor unrolls reductions of eight and fewer; two branches of SKNet are summed so."""
    setting = Setting(policy=POLICIES.get("fp32"), software=Software(), training=False)
    given = Signature((4, count, 64, 9), DType.FP32, requires_grad=False)
    layer = LAYERS.get("Sum")(**dict[str, Any](dim=1))
    assert [k.op for k in fused(record(layer, (given,), setting).kernels)] == [op]
