"""Keras models saved as JSON (``model.to_json()``) to entries: plain reading, no Keras needed.

Keras has its channels last; here they come first, which changes no count. Shapes are followed, because
'same' padding of a strided window depends on them. A layer that is not known becomes Custom where the
file says what comes out of it.
"""

from __future__ import annotations

import importlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted, Given, Source
from estimator.convert.keras_state import HANDLERS, OWN_ACTIVATION, State, Tensor, activated, ours
from estimator.convert.settings import Settings, read_json
from estimator.errors import InputError, combined, suggestion

if TYPE_CHECKING:
    from estimator.convert.keras_state import Shape

_FEW_DIMENSIONS = 2


def keras_network(text: str, name: str, file: str = "") -> Converted:
    """Return the network of a Keras JSON. Raises InputError naming the layers that cannot be converted."""
    for part in ("windows", "layers", "sequences"):
        importlib.import_module(f"estimator.convert.keras_{part}")
    file = file or name
    model = read_json(text, file)
    kind = model.get("class_name") if isinstance(model, dict) else None
    if kind not in ("Sequential", "Functional", "Model"):
        raise InputError(f"{file}: no Keras model in it", hint="save one with model.to_json()")
    config = model.get("config")
    layers = _layers(
        config if isinstance(config, list) else Settings(config, f"{file}: config")["layers"], file
    )
    state = State()
    outputs = (
        [_sequential(state, layers, file)]
        if kind == "Sequential"
        else _functional(state, layers, Settings(config, f"{file}: config"), file)
    )
    ends_in_softmax = bool(state.entries) and state.entries[-1].type == "Softmax"
    return Converted(
        name=name, inputs=state.inputs, entries=state.entries, outputs=[t.source for t in outputs],
        loss="CrossEntropyLoss" if ends_in_softmax else None, gaps=state.gaps,
    )  # fmt: skip


class _Layer:
    """One layer of the file: its class, its name, its settings, and the whole of what is said of it."""

    def __init__(self, saved: object, place: str) -> None:
        whole = Settings(saved, place)
        self.kind = whole.word("class_name", "")
        if not self.kind:
            raise InputError(f"{place}: no 'class_name' in it")
        own = whole.get("config")
        named = own.get("name") if isinstance(own, dict) else None
        self.name = str(whole.get("name") or named or "")
        file = place.partition(": ")[0]
        self.config = Settings(own, f"{file}: layer {self.name or self.kind!r}")
        self.calls = whole.get("inbound_nodes")
        built = whole.get("build_config")
        self.built: object = built.get("input_shape") if isinstance(built, dict) else None


def _layers(saved: object, file: str) -> list[_Layer]:
    if not isinstance(saved, list) or not saved:
        raise InputError(f"{file}: no layers in it", hint="save a model that has been built")
    return [_Layer(layer, f"{file}: layer {n}") for n, layer in enumerate(saved, 1)]


def _sequential(state: State, layers: list[_Layer], file: str) -> Tensor:
    first = layers[0]
    saved = _input_shape(first)
    if saved is None:
        saved = first.built
    if saved is None:
        raise InputError(
            f"{file}: the first layer has no input shape", hint="build the model before saving it"
        )
    shapes = {id(a): _sample(b.built) for a, b in pairwise(layers)}
    _check_known([layer for layer in layers if shapes.get(id(layer)) is None])
    state.count = 1
    value = _input(state, "input", saved, first)
    for layer in layers:
        if layer.kind != "InputLayer":
            value = _converted(state, layer, [value], shapes.get(id(layer)))
    return value


def _functional(state: State, layers: list[_Layer], config: Settings, file: str) -> list[Tensor]:
    shapes = _said_shapes(layers)
    _check_known([layer for layer in layers if layer.name not in shapes])
    values: dict[str, Tensor] = {}
    state.count = sum(layer.kind == "InputLayer" for layer in layers)
    for layer in layers:
        if layer.kind == "InputLayer":
            values[layer.name] = _input(state, layer.name, _input_shape(layer), layer)
            continue
        calls = layer.calls
        if not isinstance(calls, list) or not calls:
            raise InputError(f"{layer.config.where}: nothing is said to feed it (inbound_nodes)")
        if len(calls) > 1:
            raise InputError(
                f"{layer.config.where} is called {len(calls)} times: shared layers are not converted yet"
            )
        feeds = _inbound(calls[0])
        for name in feeds:
            if name not in values:
                raise InputError(
                    f"{layer.config.where}: it is fed by {name!r}, which is no layer before it",
                    hint="a model of Keras has no circles: save it anew with model.to_json()",
                )
        values[layer.name] = _converted(state, layer, [values[n] for n in feeds], shapes.get(layer.name))
    return [_output(values, name, file) for name in _outputs(config)]


def _outputs(config: Settings) -> list[object]:
    """Return the names of the layers whose outputs are the model's."""
    named = config["output_layers"]
    if not isinstance(named, list) or not named:
        raise config.wrong("output_layers", "list of layers")
    return [
        out[0] if isinstance(out, list) and out else out
        for out in (named if isinstance(named[0], list) else [named])
    ]


def _output(values: dict[str, Tensor], name: object, file: str) -> Tensor:
    if not isinstance(name, str) or name not in values:
        raise InputError(f"{file}: output_layers: there is no layer {name!r}")
    return values[name]


def _keras_tensors(call: object) -> list[dict[str, Any]]:
    """Return the values that a call of Keras 3 takes, those by name too, as the file describes them."""
    found: list[dict[str, Any]] = []
    if isinstance(call, dict) and call.get("class_name") == "__keras_tensor__":
        config = call.get("config")
        return [config] if isinstance(config, dict) and config.get("keras_history") else []
    if isinstance(call, dict):
        for value in call.values():
            found.extend(_keras_tensors(value))
    elif isinstance(call, list):
        for value in call:
            found.extend(_keras_tensors(value))
    return found


def _inbound(call: object) -> list[str]:
    """Return the names of the layers that feed a call: Keras 2 writes lists, Keras 3 mappings."""
    if isinstance(call, dict):
        return [str(t["keras_history"][0]) for t in _keras_tensors(call)]
    found = []
    for item in call if isinstance(call, list) else []:
        if isinstance(item, list) and item:
            found.append(str(item[0]))
            named = item[3] if len(item) > 3 and isinstance(item[3], dict) else {}  # noqa: PLR2004 - by name
            found += [
                str(v[0]) for v in named.values() if isinstance(v, list) and v and isinstance(v[0], str)
            ]
    return found


def _said_shapes(layers: list[_Layer]) -> dict[str, Shape]:
    """Return the output shapes that the file says, by layer: Keras 3 writes them where a value is used."""
    found: dict[str, Shape] = {}
    for layer in layers:
        for tensor in _keras_tensors(layer.calls):
            shape = _sample(tensor.get("shape"))
            if shape is not None:
                found[str(tensor["keras_history"][0])] = shape
    return found


def _sample(saved: object) -> Shape | None:
    """Return a shape of the file without its batch, channels first, or None where a size is open."""
    if not isinstance(saved, list) or len(saved) < _FEW_DIMENSIONS:
        return None
    sizes = saved[1:]
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in sizes):
        return None
    return ours(tuple(sizes))


def _input_shape(layer: _Layer) -> object:
    return layer.config.get("batch_input_shape") or layer.config.get("batch_shape")


def _input(state: State, name: str, saved: object, layer: _Layer) -> Tensor:
    shape = _sample(saved)
    if shape is None:
        said = saved[1:] if isinstance(saved, list) else saved
        raise InputError(
            f"{layer.config.where}: input {name!r} has no fixed size: {said}",
            hint="build the model with sizes in place of None",
        )
    next_is_table = layer.kind == "Embedding" or layer.config.get("dtype") in ("int32", "int64")
    state.inputs.append(Given(name, shape, "int64" if next_is_table else "float32"))
    return Tensor(Source(len(state.inputs) - 1), shape)


def _check_known(layers: list[_Layer]) -> None:
    """Raise InputError with all layers that are not known and whose output the file does not say."""
    errors = []
    for layer in layers:
        if layer.kind not in HANDLERS and layer.kind != "InputLayer":
            hint = suggestion(layer.kind, HANDLERS) or (
                "the file does not say what comes out of it (Keras 3 does): describe it in YAML as Custom"
            )
            file = layer.config.where.partition(": ")[0]
            errors.append(
                InputError(f"{file}: Keras layer {layer.kind!r} ({layer.name}) is not known", hint=hint)
            )
    if errors:
        raise combined(errors)


def _converted(state: State, layer: _Layer, inputs: list[Tensor], shape: Shape | None) -> Tensor:
    """Append what a layer is, and its activation."""
    if not inputs:
        raise InputError(f"{layer.config.where}: nothing is said to feed it (inbound_nodes)")
    state.config = layer.config
    if layer.kind not in HANDLERS:
        return state.custom(layer.kind, inputs, shape or inputs[0].shape)
    value = HANDLERS[layer.kind](state, layer.config, inputs)
    if layer.kind in OWN_ACTIVATION:
        return value
    return activated(state, layer.config.get("activation"), value)
