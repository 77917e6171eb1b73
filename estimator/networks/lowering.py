"""Lowering: a network and a recipe become a workload, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from estimator.errors import CombinedInputError, InputError
from estimator.layers.base import LayerError, record
from estimator.layers.strides import channels_last
from estimator.layers.tape import Signature, Tensor
from estimator.networks.compilation import compiled
from estimator.networks.footprint import Passing, Segments, footprint
from estimator.networks.liveness import gradients_in_flight
from estimator.networks.optimizers import update_kernels
from estimator.networks.training import Checkpointing
from estimator.software import Layout, Mode
from estimator.workload.build import traffic
from estimator.workload.kernel import IN_PLACE, Op, Phase
from estimator.workload.workload import Collective, LayerWork, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.layers.tape import Record, Setting, Weight
    from estimator.networks.graph import Network, Node
    from estimator.networks.training import Training
    from estimator.workload.kernel import Kernel

_LEAST_BATCHED = 2  # dimensions of a shape that may have a batch of its own besides ours
_LARGEST_TENSOR = 2**50  # elements; beyond it a description is a mistake, not a network


@dataclass(slots=True)
class _Call:
    """A node as it was lowered: its record and the storages of the network that it saves."""

    node: Node
    record: Record
    arguments: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    saved: dict[int, int]


def lower(network: Network, training: Training) -> Workload:
    """Return the work of one step of ``training`` on one device.

    Raises CombinedInputError with every layer whose input does not fit; what depends on a failed layer is
    not reported again.
    """
    calls, inputs = _run(network, training)
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


def _passing(network: Network, calls: list[_Call], training: Training) -> Passing:
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


def _casts_bytes(calls: Sequence[_Call]) -> int:
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

    _run(network, Training(batch=1))


def _run(network: Network, training: Training) -> tuple[list[_Call], list[Tensor]]:
    """Record every node in order; storages become unique over the network."""
    setting = training.setting()
    images_last = setting.software.layout is Layout.CHANNELS_LAST
    inputs = [
        Tensor(
            (training.batch, *i.shape),
            training.precision.weights if i.dtype.is_floating else i.dtype,
            requires_grad=False,
            storage=-1 - index,
            strides=channels_last((training.batch, *i.shape)) if images_last else None,
        )
        for index, i in enumerate(network.inputs)
    ]
    values: list[tuple[Tensor, ...] | None] = [(tensor,) for tensor in inputs]
    calls: list[_Call] = []
    records: dict[int, Record] = {}
    known: dict[tuple[int, ...], Record] = {}
    errors: list[InputError] = []
    storages = 0
    sizes: dict[int, int] = {tensor.storage: tensor.bytes for tensor in inputs}
    parameters: set[int] = set()  # that a layer may hand out as they are: they lie in memory anyway
    frozen = replace(setting, trainable=False)
    for index, node in enumerate(network.nodes):
        tensors = _arguments(values, node, errors)
        values.append(None)
        if tensors is None or (node.training_only and not training.training):
            continue
        key = _same(node, tensors)
        try:
            if key not in known:
                known[key] = _recorded(node, tensors, setting if node.trainable else frozen)
            left = known[key]
            if node.shares is not None or node.tied is not None:
                _check_shared(node, left, records)
        except InputError as error:
            errors.append(error)
            continue
        records[index] = left
        for own, size in left.sizes:
            sizes[storages + own] = size
        for own in left.weight_storages:
            parameters.add(storages + own)
        outputs, saved, storages = _placed(left, tensors, storages)
        values[-1] = outputs
        # A view that is saved keeps all of what it looks at, and no more where it repeats elements.
        saved = {s: sizes.get(s, size) for s, size in saved.items() if s not in parameters}
        calls.append(_Call(node, left, tensors, outputs, saved))
    if errors:
        raise errors[0] if len(errors) == 1 else CombinedInputError(errors)
    return calls, inputs


def _arguments(
    values: list[tuple[Tensor, ...] | None], node: Node, errors: list[InputError]
) -> tuple[Tensor, ...] | None:
    """Return what a call takes; None, with an error where it is its own, if something is missing."""
    tensors = []
    for reference in node.inputs:
        outputs = values[reference.node]
        if outputs is None:
            return None
        if reference.output >= len(outputs):
            text = f"there is no output {reference.output} to take: the layer named has {len(outputs)}"
            errors.append(InputError(text, at=node.at, hint="the first output is .0"))
            return None
        tensors.append(outputs[reference.output])
    return tuple(tensors)


def _check_shared(node: Node, left: Record, records: Mapping[int, Record]) -> None:
    """Raise InputError unless shared weights have the shapes they have where they were made."""
    if node.shares is not None and node.shares in records:
        first = records[node.shares]
        for own, other in zip(left.weights, first.weights, strict=True):
            if own.shape != other.shape:
                text = f"reuse: {own.name} would be {list(own.shape)} and is {list(other.shape)}"
                raise InputError(text, at=node.at)
    if node.tied is not None and node.tied in records:
        own_shape, tied_shape = _weight_shape(left), _weight_shape(records[node.tied])
        if own_shape is None or own_shape != tied_shape:
            text = f"tie: the weight is {own_shape} and the one named is {tied_shape}"
            raise InputError(text.replace("None", "missing"), at=node.places.get("tie", node.at))


def _weight_shape(left: Record) -> list[int] | None:
    return next((list(weight.shape) for weight in left.weights if weight.name == "weight"), None)


def _same(node: Node, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return a key that calls which leave the same record share: hashing all of their arguments is slow.

    A shape is one object from the record that made it on, and lives as long as the tensors do.
    """
    parts = [id(node.layer), int(node.trainable)]
    for tensor in tensors:
        parts += (id(tensor.shape), id(tensor.dtype), id(tensor.strides), int(tensor.requires_grad))
    return tuple(parts)


def _recorded(node: Node, tensors: Sequence[Tensor], setting: Setting) -> Record:
    """Record one call; a LayerError gets the place of the argument it blames."""
    try:
        left = record(
            node.layer,
            tuple(Signature(t.shape, t.dtype, t.requires_grad, t.strides) for t in tensors),
            setting,
        )
    except LayerError as error:
        at = node.places.get(error.argument or "", node.at)
        hint = error.hint or node.hint or _batch_hint(node, tensors, setting)
        raise InputError(_with_batch(error.message, tensors), at=at, hint=hint) from None
    except (ValueError, IndexError):  # unpacked another number of inputs, or asked for a missing dimension
        shapes = ", ".join(_shape(t) for t in tensors) or "none"
        text = f"{node.layer.type_name}: cannot take these inputs: {shapes}"
        raise InputError(text, at=node.at, hint=node.hint) from None
    if any(prod(t.shape) > _LARGEST_TENSOR for t in left.outputs):
        raise InputError(
            f"{node.layer.type_name}: the output {list(left.outputs[0].shape)} is too large to be meant",
            at=node.at,
        )
    return left


def _shape(tensor: Tensor) -> str:
    """Write a shape as files do, with a word for the batch, which they do not have."""
    return f"[{', '.join(['batch', *map(str, tensor.shape[1:])])}]"


def _with_batch(message: str, tensors: Sequence[Tensor]) -> str:
    """Name the batch in the shapes that a layer's message shows: its size may be one to try with."""
    for tensor in tensors:
        message = message.replace(str(list(tensor.shape)), _shape(tensor))
    return message


def _batch_hint(node: Node, tensors: Sequence[Tensor], setting: Setting) -> str | None:
    """Return what to do where an input of the network would fit without its first dimension."""
    if len(tensors) != 1 or tensors[0].storage >= 0 or len(tensors[0].shape) <= _LEAST_BATCHED:
        return None
    (x,) = tensors
    without = Signature((x.shape[0], *x.shape[2:]), x.dtype, x.requires_grad)
    try:
        record(node.layer, (without,), setting)
    except (LayerError, ValueError, IndexError):
        return None
    return f"shapes are written without the batch: leave the {x.shape[1]} out if it is one"


def _placed(
    left: Record, tensors: tuple[Tensor, ...], storages: int
) -> tuple[tuple[Tensor, ...], dict[int, int], int]:
    """Give a record's storages their numbers in the network."""
    outputs: list[Tensor] = []
    saved: dict[int, int] = {}
    highest = 0
    for t in left.outputs:
        own = t.storage
        placed = tensors[-1 - own].storage if own < 0 else storages + own
        outputs.append(Tensor(t.shape, t.dtype, t.requires_grad, placed, t.strides))
        highest = max(highest, own)
    for own, size in left.saved:
        saved[tensors[-1 - own].storage if own < 0 else storages + own] = size
        highest = max(highest, own)
    return tuple(outputs), saved, storages + highest


def _layers(
    network: Network, calls: list[_Call], inputs: list[Tensor], training: Training, *, recompute: bool
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


def _own_weights(call: _Call) -> list[Weight]:
    """Return the weights that this call is the first to use."""
    if not call.record.weights or call.node.shares is not None:
        return []
    return [
        weight
        for weight in call.record.weights
        if not (call.node.tied is not None and weight.name == "weight")
    ]


def _gradient_sizes(network: Network, calls: list[_Call]) -> list[int]:
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


def _gradient_adds(network: Network, calls: list[_Call]) -> dict[int, tuple[Kernel, ...]]:
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


def _weight_adds(call: _Call, training: Training) -> tuple[Kernel, ...]:
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
