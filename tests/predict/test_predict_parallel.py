from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import pytest

from estimator.errors import InputError
from estimator.hardware.system import Interconnect, System
from estimator.precision import POLICIES, DType
from estimator.predict.layout import Parallelism
from estimator.predict.parallel import estimate_parallel_step
from estimator.predict.replica import Replica
from estimator.predict.sharding import Stream, expert_products, split_experts, split_sequence, split_tensors
from estimator.predict.step import estimate_step
from estimator.predict.table import build_table
from estimator.predict.waits import gradients_s
from estimator.software import Software
from estimator.workload.kernel import GemmShape, Kernel, Op, Phase
from estimator.workload.workload import Collective, Footprint, LayerWork, Workload

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.estimate import StepEstimate

FAST = Interconnect(id="f", name="f", alpha_s=20e-6, alpha_per_device_s=1e-6, bus_bytes_per_s=200e9)
SLOW = Interconnect(id="s", name="s", alpha_s=50e-6, alpha_per_device_s=1e-6, bus_bytes_per_s=2e9)
NOTHING = Footprint(weights_bytes=0, gradients_bytes=0, optimizer_bytes=0, activations_bytes=0, other_bytes=0)
TOKENS, WIDTH, BLOCKS = 2048, 2048, 8


def product(m: int, n: int, k: int) -> list[Kernel]:
    kernels = []
    for phase, shape in (
        (Phase.FORWARD, GemmShape(1, m, n, k)),
        (Phase.DGRAD, GemmShape(1, m, k, n)),
        (Phase.WGRAD, GemmShape(1, n, k, m)),
    ):
        kernels.append(
            Kernel(
                name="linear", op=Op.GEMM, phase=phase, compute=DType.FP16, flops=shape.flops,
                bytes_read=2 * (m * k + k * n), bytes_written=2 * m * n, weight_bytes=2 * n * k, shape=shape,
            )
        )  # fmt: skip
    return kernels


def norm(elements: int) -> Kernel:
    return Kernel(
        name="layer_norm", op=Op.LAYER_NORM, phase=Phase.FORWARD, compute=DType.FP32, elements=elements,
        bytes_read=4 * elements, bytes_written=2 * elements,
    )  # fmt: skip


def layer(path: str, kind: str, kernels: list[Kernel]) -> LayerWork:
    return LayerWork(
        path=path, kind=kind, output_shape=(1, TOKENS, WIDTH), parameters=0, trainable_parameters=0,
        saved_bytes=0, kernels=tuple(kernels),
    )  # fmt: skip


def transformer(repeats: int = 8) -> Workload:
    layers = []
    for i in range(BLOCKS):
        layers += [
            layer(f"{i}.n", "LayerNorm", [norm(TOKENS * WIDTH)]),
            layer(f"{i}.up", "Linear", product(TOKENS, 4 * WIDTH, WIDTH)),
            layer(f"{i}.down", "Linear", product(TOKENS, WIDTH, 4 * WIDTH)),
        ]
    layers += [
        layer("n", "LayerNorm", [norm(TOKENS * WIDTH)]),
        layer("head", "Linear", product(TOKENS, 32000, WIDTH)),
    ]
    parameters = BLOCKS * 8 * WIDTH**2
    layers[0] = layers[0]._replace(parameters=parameters)
    adam = Kernel(
        name="adam", op=Op.OPTIMIZER, phase=Phase.OPTIMIZER, compute=DType.FP32, bytes_read=16 * parameters,
        bytes_written=12 * parameters, elements=parameters,
    )  # fmt: skip
    return Workload(
        network="t", batch=1, layers=tuple(layers), optimizer=(adam,), footprint=NOTHING, repeats=repeats
    )


def estimate(
    device: Device, calibration: Calibration, parallel: Parallelism, *, repeats: int = 8, nodes: int = 1
) -> StepEstimate:
    system = System(
        device=device, count=parallel.data * parallel.model_devices, nodes=nodes, within=FAST, between=SLOW
    )
    return estimate_parallel_step(
        transformer(repeats), system, parallel, software=Software(), policy=POLICIES.get("amp"),
        calibration=calibration,
    )  # fmt: skip


def test_one_device_is_the_plain_step(v100: Device, calibration: Calibration) -> None:
    plain = estimate_step(
        transformer(), System(device=v100), software=Software(), policy=POLICIES.get("amp"),
        calibration=calibration,
    )  # fmt: skip
    assert estimate(v100, calibration, Parallelism()).time == plain.time


def test_splitting_divides_the_work_and_not_the_stream() -> None:
    table = build_table(transformer(1))
    stream = Stream.of(transformer(1))
    split = split_tensors(table, stream, 4)
    assert split.total(split.flops) == pytest.approx(table.total(table.flops) / 4)
    assert stream is not None
    assert (stream.elements, stream.joins) == (TOKENS * WIDTH, BLOCKS)
    assert split.elements[0] == table.elements[0] == TOKENS * WIDTH
    up, down = 1, 4
    assert (split.n[up], split.k[up]) == (2 * WIDTH // 2, WIDTH)
    assert (split.n[down], split.k[down]) == (WIDTH, WIDTH)
    halves = split_sequence(table, 2)
    assert halves.total(halves.flops) == pytest.approx(table.total(table.flops) / 2)


def test_tensor_parallelism_pays_for_its_sums(v100: Device, calibration: Calibration) -> None:
    one, four = (estimate(v100, calibration, Parallelism(tensor=t)) for t in (1, 4))
    assert 2 < one.time.expected / four.time.expected < 4
    assert four.samples == one.samples
    assert four.phases.communication_s > 0


def test_a_pipeline_is_better_filled_by_more_micro_batches(v100: Device, calibration: Calibration) -> None:
    few, many = (estimate(v100, calibration, Parallelism(pipeline=4), repeats=m) for m in (4, 64))
    assert many.samples_per_s > 1.4 * few.samples_per_s
    interleaved = estimate(v100, calibration, Parallelism(pipeline=4, virtual=2), repeats=4)
    assert interleaved.time.expected < few.time.expected


def test_phases_and_bounds_add_up(v100: Device, calibration: Calibration) -> None:
    step = estimate(v100, calibration, Parallelism(data=2, tensor=2, pipeline=2, context=2), nodes=2)
    for part in (step.phases, step.bounds):
        assert sum(getattr(part, f.name) for f in fields(part)) == pytest.approx(step.time.expected)
    assert step.mfu is not None
    assert 0 < step.mfu < 1


def test_sharded_weights_cost_more_exchange_and_less_update(v100: Device, calibration: Calibration) -> None:
    plain = estimate(v100, calibration, Parallelism(data=8), nodes=2)
    sharded = estimate(v100, calibration, Parallelism(data=8, sharding="fsdp"), nodes=2)
    assert sharded.phases.optimizer_s < plain.phases.optimizer_s / 4
    assert sharded.phases.communication_s > plain.phases.communication_s


def test_a_layout_must_fill_the_system(v100: Device, calibration: Calibration) -> None:
    with pytest.raises(InputError, match="takes 4 devices, the system has 8"):
        estimate_parallel_step(
            transformer(), System(device=v100, count=8, within=FAST), Parallelism(data=4),
            software=Software(), policy=POLICIES.get("amp"), calibration=calibration,
        )  # fmt: skip


def mixture(experts: int = 16, top_k: int = 2) -> Workload:
    rows, inner = TOKENS * top_k, 1024
    gather = Kernel(
        name="gather_tokens", op=Op.GATHER, phase=Phase.FORWARD, compute=DType.FP16, elements=rows * WIDTH,
        bytes_read=2 * rows * WIDTH, bytes_written=2 * rows * WIDTH,
    )  # fmt: skip
    products = [
        replace(
            k, name=f"grouped_{k.phase}", shape=replace(k.shape, batch=experts), flops=k.flops * experts,
            weight_bytes=0 if k.phase is Phase.WGRAD else k.weight_bytes * experts,
        )
        for k in product(rows // experts, inner, WIDTH) if isinstance(k.shape, GemmShape)
    ]  # fmt: skip
    blocks = [
        part
        for i in range(BLOCKS)
        for part in (
            layer(f"{i}.n", "LayerNorm", [norm(TOKENS * WIDTH)]),
            layer(f"{i}.moe", "MoE", [gather, *products]),
        )
    ]
    parameters = BLOCKS * experts * inner * WIDTH
    blocks[0] = blocks[0]._replace(parameters=parameters)
    return replace(transformer(), layers=(*blocks, layer("n", "LayerNorm", [norm(TOKENS * WIDTH)])))


def test_experts_shared_out_are_as_much_work_on_fewer_weights() -> None:
    table = build_table(mixture())
    shared = split_experts(table, 4)
    assert shared.total(shared.flops) == table.total(table.flops)
    experts = expert_products(table)
    assert shared.batch[experts].tolist() == (table.batch[experts] / 4).tolist()
    assert (shared.batch * shared.m * shared.n * shared.k).tolist() == (
        table.batch * table.m * table.n * table.k
    ).tolist()
    assert shared.total(shared.weight_bytes) == pytest.approx(table.total(table.weight_bytes) / 4)


def test_a_mixture_knows_its_experts_and_what_they_are_sent() -> None:
    replica = Replica.of(mixture(), 4)
    assert replica.expert_parameters == replica.parameters
    assert replica.experts_a_token == 2
    assert replica.expert_layers == BLOCKS


def test_experts_on_several_hosts_cost_more_to_reach(v100: Device, calibration: Calibration) -> None:
    def waiting(hosts: int) -> float:
        system = System(device=v100, count=8, nodes=hosts, within=FAST, between=SLOW)
        step = estimate_parallel_step(
            mixture(), system, Parallelism(data=8, experts=8), software=Software(),
            policy=POLICIES.get("amp"), calibration=calibration,
        )  # fmt: skip
        return step.phases.communication_s

    assert waiting(4) > waiting(1) > 0


def test_groups_of_replicas_share_the_network_of_their_hosts(v100: Device, calibration: Calibration) -> None:
    replica = Replica.of(
        replace(transformer(), collectives=(Collective(kind="all_reduce", bytes=4 * 10**9),)), 4
    )

    def seconds(tensor: int) -> float:
        system = System(device=v100, count=2 * tensor, nodes=2, within=FAST, between=SLOW)
        return gradients_s(
            replica, 1, system, Parallelism(data=2, tensor=tensor), policy=POLICIES.get("fp32"),
            calibration=calibration, busy_s=0.0,
        )  # fmt: skip

    # each of four devices sends a quarter over a quarter of the host's network
    assert seconds(4) == pytest.approx(seconds(1), rel=1e-3)
