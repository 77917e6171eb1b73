"""A symbolic run of a network: every layer recorded in order, its values placed in one memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from estimator.errors import CombinedInputError, InputError
from estimator.layers.base import LayerError, record
from estimator.layers.strides import channels_last
from estimator.layers.tape import Signature, Tensor
from estimator.software import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.layers.tape import Record, Setting
    from estimator.networks.graph import Network, Node
    from estimator.networks.training import Training

_LEAST_BATCHED = 2  # dimensions of a shape that may have a batch of its own besides ours
_LARGEST_TENSOR = 2**50  # elements; beyond it a description is a mistake, not a network


@dataclass(slots=True)
class Call:
    """A node as it ran: its record, its values placed in the network's memory, and what it saves there.

    ``saved`` are bytes by storage.
    """

    node: Node
    record: Record
    arguments: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    saved: dict[int, int]


def run(network: Network, training: Training) -> tuple[list[Call], list[Tensor]]:
    """Return the calls, in order, and the network's inputs; storages are unique over the network.

    Raises CombinedInputError (or the InputError, if it is one) with every layer whose input does not fit;
    what depends on a failed layer is not reported again.
    """
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
    calls: list[Call] = []
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
        calls.append(Call(node, left, tensors, outputs, saved))
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
