"""Lowering: a network and a recipe become a workload, layer by layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.networks.calls import run
from estimator.networks.compilation import compiled
from estimator.networks.footprint import Passing, Segments, footprint
from estimator.networks.liveness import gradients_in_flight
from estimator.networks.optimizers import update_kernels
from estimator.networks.training import Checkpointing
from estimator.software import Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import IN_PLACE, Op, Phase
from estimator.workload.workload import Collective, LayerWork, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.layers.tape import Tensor, Weight
    from estimator.networks.calls import Call
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.workload.kernel import Kernel


def lower(network: Network, training: Training) -> Workload:
    """Return the work of one step of ``training`` on one device.

    Raises CombinedInputError with every layer whose input does not fit; what depends on a failed layer is
    not reported again.
    """
    calls, inputs = run(network, training)
    layers = _layers(
        network, calls, inputs, training, recompute=training.checkpointing is Checkpointing.BLOCKS
    )
    if training.software.mode is Mode.COMPILED:
        layers = compiled(layers, calls)
    sizes = [weight.numel for call in calls for weight in _own_weights(call) if weight.trainable]
    gradients = _gradient_sizes(network, calls)
    optimizer = (
        update_kernels(training.optimizer, gradients, training.precision, training.software)
        if training.training
        else ()
    )
    gradient_bytes = sum(gradients) * training.precision.weights.itemsize
    return Workload(
        network=network.name,
        batch=training.batch,
        layers=layers,
        optimizer=optimizer,
        footprint=footprint(layers, (sizes, gradients), inputs, training, _passing(network, calls, training)),
        collectives=(
            (Collective(kind="all_reduce", bytes=gradient_bytes),)
            if training.training and gradient_bytes
            else ()
        ),
        repeats=training.accumulation,
        input_bytes=sum(tensor.bytes for tensor in inputs),
        custom_layers=tuple(call.node.path for call in calls if call.node.layer.type_name == "Custom"),
        unstated_layers=unstated(network),
    )


def unstated(network: Network) -> tuple[str, ...]:
    """Return the Custom layers of which nothing is said: neither FLOPs nor bytes."""
    return tuple(
        node.path
        for node in network.nodes
        if node.layer.type_name == "Custom" and not {"flops", "bytes"} & set(node.places)
    )


def _passing(network: Network, calls: list[Call], training: Training) -> Passing:
    """Return what lives for a part of a step beside saved activations."""
    if not training.training:
        return Passing(in_flight=(), results_bytes=0, segments=None, casts_bytes=0)
    in_flight = gradients_in_flight(calls)
    saved = {storage for call in calls for storage in call.saved}
    first = len(network.inputs)
    results = {
        tensor.storage: tensor.bytes
        for reference in network.outputs
        if reference.node >= first
        for tensor in (calls[reference.node - first].outputs[reference.output],)
        if tensor.storage not in saved
    }
    checkpointed = training.checkpointing is Checkpointing.BLOCKS
    return Passing(
        in_flight=in_flight,
        results_bytes=sum(results.values()),
        segments=Segments.of(calls, in_flight) if checkpointed else None,
        casts_bytes=_casts_bytes(calls) if training.precision.autocast else 0,
    )


def _casts_bytes(calls: Sequence[Call]) -> int:
    """Return the bytes of the weights that products read, in the format they are cast to."""
    return sum(
        kernel.weight_bytes
        for call in calls
        if call.node.shares is None
        for kernel in call.record.kernels
        if kernel.phase is Phase.FORWARD and kernel.flops
    )


def check(network: Network) -> None:
    """Raise CombinedInputError unless every layer fits its input."""
    from estimator.networks.training import Training

    run(network, Training(batch=1))


def _layers(
    network: Network, calls: list[Call], inputs: list[Tensor], training: Training, *, recompute: bool
) -> tuple[LayerWork, ...]:
    """Turn calls into layers: saved memory counted once, gradients of shared values added up."""
    held: dict[int, int] = {tensor.storage: tensor.bytes for tensor in inputs}
    times = {}
    if any(call.node.times > 1 for call in calls):
        times = {tensor.storage: call.node.times for call in calls for tensor in call.outputs}
    adds = _gradient_adds(network, calls)
    layers = []
    for index, call in enumerate(calls):
        saved = 0
        for storage, size in call.saved.items():
            before = held.get(storage, 0)
            if size > before:
                saved += (size - before) * times.get(storage, 1 if storage < 0 else call.node.times)
                held[storage] = size
        weights = _own_weights(call)
        kernels = call.record.kernels
        if call.node.times > 1:
            kernels *= call.node.times
        if index in adds:
            kernels += adds[index]
        if call.node.times > 1:
            kernels += _weight_adds(call, training)
        if recompute:
            kernels += tuple(
                replace(kernel, phase=Phase.RECOMPUTE)
                for kernel in call.record.kernels * call.node.times
                if kernel.phase is Phase.FORWARD
            )
        layers.append(
            LayerWork(
                path=call.node.path,
                kind=call.node.layer.type_name,
                output_shape=call.outputs[0].shape,
                parameters=sum([weight.numel for weight in weights]) if weights else 0,
                trainable_parameters=sum([w.numel for w in weights if w.trainable]) if weights else 0,
                saved_bytes=saved,
                kernels=kernels,
                training_only=call.node.training_only,
            )
        )
    return tuple(layers)


def _own_weights(call: Call) -> list[Weight]:
    """Return the weights that this call is the first to use."""
    if not call.record.weights or call.node.shares is not None:
        return []
    return [
        weight
        for weight in call.record.weights
        if not (call.node.tied is not None and weight.name == "weight")
    ]


def _gradient_sizes(network: Network, calls: list[Call]) -> list[int]:
    """Return the elements of the gradient of every trained weight: of a sparse one those looked up."""
    touched: dict[tuple[str, str], int] = {}
    for call in calls:
        owner = call.node if call.node.shares is None else network.nodes[call.node.shares]
        for weight in call.record.weights:
            key = owner.path, weight.name
            touched[key] = touched.get(key, 0) + (weight.numel if weight.touched is None else weight.touched)
    return [
        min(weight.numel, touched[call.node.path, weight.name])
        for call in calls
        for weight in _own_weights(call)
        if weight.trainable
    ]


def _gradient_adds(network: Network, calls: list[Call]) -> dict[int, tuple[Kernel, ...]]:
    """Return, by call, the additions autograd makes where a value has several users."""
    if len(calls) != len(network.nodes):
        return {}  # inference without its losses: no gradients
    first = len(network.inputs)
    uses: dict[tuple[int, int], int] = {}
    for call in calls:
        for reference in call.node.inputs:
            count = 1
            if call.node.times > 1:
                made = calls[reference.node - first].node.times if reference.node >= first else 1
                count = max(1, call.node.times // made)
            used = reference.node - first, reference.output
            uses[used] = uses.get(used, 0) + count
    adds: dict[int, tuple[Kernel, ...]] = {}
    for (index, output), count in uses.items():
        if count < 2 or index < 0:  # noqa: PLR2004 - one user needs no addition
            continue
        tensor = calls[index].outputs[output]
        if tensor.requires_grad:
            add = traffic(
                "grad_add" + IN_PLACE, Op.ELEMENTWISE, Phase.DGRAD, compute=tensor.dtype,
                read=2 * tensor.bytes, written=tensor.bytes, elements=tensor.numel,
            )  # fmt: skip
            adds[index] = adds.get(index, ()) + (add,) * ((count - 1) * calls[index].node.times)
    return adds


def _weight_adds(call: Call, training: Training) -> tuple[Kernel, ...]:
    """Return the additions of a weight's gradients where its layer runs several times."""
    if not training.training:
        return ()
    dtype = training.precision.weights
    return tuple(
        traffic(
            "add_gradient", Op.ELEMENTWISE, Phase.WGRAD, compute=dtype, read=2 * size, written=size,
            elements=weight.numel,
        )
        for weight in call.record.weights
        if weight.trainable
        for size in (weight.numel * dtype.itemsize,)
    ) * (call.node.times - 1)  # fmt: skip
