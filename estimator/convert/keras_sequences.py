"""Keras's layers on sequences: embeddings, recurrent layers, attention and wrappers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.convert.keras_state import (
    HANDLERS,
    OWN_ACTIVATION,
    activated,
    handles,
)
from estimator.convert.settings import Settings
from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.convert.keras_state import (
        Args,
        Handler,
        State,
        Tensor,
    )

_SEQUENCE = 2  # dimensions of (length, features)


@handles("Embedding")
def _embedding(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    (x,) = inputs
    width = config.count("output_dim")
    args = {"num_embeddings": config.count("input_dim"), "embedding_dim": width}
    return state.add("Embedding", args, [x], (*x.shape, width))


_RECURRENT = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN", "CuDNNLSTM": "LSTM", "CuDNNGRU": "GRU"}


def _states(
    state: State, kind: str, config: Settings, x: Tensor, *, directions: int = 1, whole: bool | None = None
) -> Tensor:
    """Append a recurrent layer; ``whole`` says whether all its steps come out."""
    if len(x.shape) != _SEQUENCE:
        raise InputError(f"{config.where}: needs a sequence (length, features), got {list(x.shape)}")
    if config.flag("return_state", default=False):
        raise InputError(f"{config.where}: return_state is not converted")
    units = config.count("units")
    args: Args = {"hidden_size": units} | ({} if config.flag("use_bias", default=True) else {"bias": False})
    args |= {"bidirectional": True} if directions > 1 else {}
    value = state.add(_RECURRENT[kind], args, [x], (x.shape[0], directions * units))
    if config.flag("return_sequences", default=False) if whole is None else whole:
        return value
    return state.add("Select", {"dim": 1, "index": -1}, [value], value.shape[1:])


def _recurrent(kind: str) -> Handler:
    def handler(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
        return _states(state, kind, config, inputs[0])

    return handler


for _name in _RECURRENT:
    handles(_name, own_activation=True)(_recurrent(_name))


def _inner(config: Settings) -> tuple[str, Settings]:
    """Return class and settings of the layer that a wrapper holds."""
    held = Settings(config["layer"], f"{config.where}: layer")
    return held.word("class_name", ""), Settings(held["config"], f"{config.where}: layer")


@handles("Bidirectional", own_activation=True)
def _bidirectional(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    """Append both directions, side by side or joined as the wrapper says."""
    kind, inner = _inner(config)
    if kind not in _RECURRENT:
        raise InputError(f"{config.where}: both directions of {kind!r} are not converted")
    value = _states(state, kind, inner, inputs[0], directions=2)
    mode = config.get("merge_mode", "concat")
    if mode == "concat":
        return value
    joins = {"sum": "Add", "mul": "Mul", "ave": "Add"}
    if mode not in joins:
        raise config.wrong("merge_mode", "mode that can be described (concat, sum, mul, ave)")
    place, width = len(value.shape), value.shape[-1] // 2
    shape = (*value.shape[:-1], width)
    halves = [
        state.add("Slice", {"dim": place, "start": start, "stop": start + width}, [value], shape)
        for start in (0, width)
    ]
    joined = state.add(joins[mode], {}, halves, shape)
    return state.add("MulScalar", {"value": 0.5}, [joined], shape) if mode == "ave" else joined


@handles("TimeDistributed", own_activation=True)
def _time_distributed(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    """Append the layer held, where it works on each step by itself anyway."""
    kind, inner = _inner(config)
    steps = ("Dense", "Activation", "Dropout", "LayerNormalization", "ReLU", "LeakyReLU", "ELU", "Softmax")
    if kind not in steps or len(inputs[0].shape) != _SEQUENCE:
        raise InputError(
            f"{config.where}: {kind!r} of each step of {list(inputs[0].shape)} is not converted",
            hint=f"converted are {', '.join(steps)} of a sequence of features",
        )
    value = HANDLERS[kind](state, inner, inputs)
    return value if kind in OWN_ACTIVATION else activated(state, inner.get("activation"), value)


@handles("MultiHeadAttention", "GroupedQueryAttention", own_activation=True)
def _attention(state: State, config: Settings, inputs: list[Tensor]) -> Tensor:
    """Append attention of a query to a value (and a key); its output is as wide as the query."""
    query = inputs[0]
    if len(query.shape) != _SEQUENCE or config.get("output_shape") is not None:
        raise InputError(
            f"{config.where}: attention of {list(query.shape)}, or to another width, is not converted"
        )
    depth = config.count("key_dim", "head_dim")
    if config.count("value_dim", default=depth) != depth:
        raise InputError(f"{config.where}: value_dim other than key_dim is not converted")
    heads = config.count("num_heads", "num_query_heads")
    args: Args = {"num_heads": heads, "head_dim": depth}
    kv_heads = config.count("num_key_value_heads", default=heads)
    args |= {"num_kv_heads": kv_heads} if kv_heads != heads else {}
    args |= {"packed": False} | ({} if config.flag("use_bias", default=True) else {"bias": False})
    dropout = config.share("dropout", 0.0)
    args |= {"dropout": dropout} if dropout else {}
    sources = [t.source for t in inputs[:3]]
    same = all(source == sources[0] for source in sources)
    used = inputs[:1] if same else inputs[:2] if sources[1:] == sources[1:2] * 2 else inputs[:3]
    return state.add("MultiheadAttention", args, used, query.shape)
