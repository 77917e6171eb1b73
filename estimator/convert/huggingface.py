"""Hugging Face ``config.json`` files to our YAML: a family of ours with the configuration's numbers.

Nothing but the JSON is read: no package, no weights, no code of the model's repository.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimator.convert.settings import Settings, read_json
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Params = dict[str, Any]

FAMILIES: dict[str, tuple[str, Callable[[Settings], Params]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The plain network of a configuration, and what a reader must be told about it."""

    plain: dict[str, Any]
    notes: tuple[str, ...]


def family(
    base: str, *model_types: str
) -> Callable[[Callable[[Settings], Params]], Callable[[Settings], Params]]:
    """Register how a ``model_type`` becomes the parameters of a network of ours."""

    def add(function: Callable[[Settings], Params]) -> Callable[[Settings], Params]:
        for model_type in model_types:
            FAMILIES[model_type] = (base, function)
        return function

    return add


def families() -> Mapping[str, tuple[str, Callable[[Settings], Params]]]:
    """Return all families by model type."""
    for name in ("decoders", "experts", "encoders", "translators", "images"):
        importlib.import_module(f"estimator.convert.huggingface_{name}")
    return FAMILIES


def huggingface_network(text: str, name: str, file: str = "") -> Configured:
    """Return the network of a ``config.json``. Raises InputError for what cannot be described."""
    file = file or name
    config = read_json(text, file)
    if not isinstance(config, dict) or "model_type" not in config:
        raise InputError(
            f"{file}: no 'model_type' in it", hint="give the config.json of a transformers model"
        )
    settings = Settings(config, file)
    kind = settings.word("model_type", "")
    known = families()
    if kind not in known:
        raise InputError(f"{file}: model type {kind!r} is not known", hint=_hint(kind, known))
    base, parameters = known[kind]
    origin = " ".join(str(config.get("_name_or_path") or name).split())
    source = f"config.json of {origin}, model type {kind}"
    plain = {"format": 1, "name": name, "base": base, "source": source, "params": parameters(settings)}
    if config.get("quantization_config") is not None:
        settings.notes.append(
            "quantization_config is left out: the network is described at full width, as it is trained"
        )
    return Configured(plain=plain, notes=tuple(settings.notes))


_NEAR = 0.85  # of names alike: a typing mistake, not another family that happens to share letters


def _hint(kind: str, known: Iterable[str]) -> str:
    """Return the known types, and the one that was meant where only a letter is wrong.

    A name that begins with another's (``gemma2``) is a type of its own.
    """
    listed = f"known are {', '.join(sorted(known))}"
    near = [
        other for other in difflib.get_close_matches(kind, list(known), n=3, cutoff=_NEAR)
        if not kind.startswith(other)
    ]  # fmt: skip
    return (
        f"did you mean {near[0]!r}? {listed}"
        if near
        else f"{listed}; or convert the module: torch:module:callable"
    )


def shortened(config: Settings, positions: int, most: int) -> int:
    """Return a context that is no longer than is usual, with a note where it was cut."""
    if positions <= most:
        return positions
    config.notes.append(
        f"the context of {positions} positions is cut to sequences of {most}; --set seq={positions} takes all"
    )
    return most


def split_width(config: Settings, width: int, heads: int, width_key: str, heads_key: str) -> int:
    """Return the width of a head. Raises InputError where the heads do not share the width evenly."""
    if width % heads:
        raise InputError(
            f"{config.where}: {width_key}: {width} cannot be split among {heads} heads ({heads_key})"
        )
    return width // heads


def check_width(config: Settings, width_key: str, heads_key: str) -> tuple[int, int]:
    """Return width and heads, which divide it."""
    width, heads = config.count(width_key), config.count(heads_key)
    split_width(config, width, heads, width_key, heads_key)
    return width, heads


def activation(config: Settings, key: str) -> Params:
    """Return the parameters for an activation by its name in transformers."""
    name = config.word(key, "gelu")
    gelus = {
        "gelu": "none",
        "gelu_new": "new",
        "gelu_pytorch_tanh": "tanh",
        "gelu_fast": "new",
        "quick_gelu": "quick",
    }
    if name in gelus:
        return {"activation": "GELU", "gelu": gelus[name]}
    others = {"relu": "ReLU", "silu": "SiLU", "swish": "SiLU"}
    if name not in others:
        raise InputError(f"{config.where}: {key}: unknown activation {name!r}")
    return {"activation": others[name]}


def classes(config: Settings, default: int) -> int:
    """Return the number of labels of a head."""
    labels = config.get("id2label")
    if labels is None:
        return config.count("num_labels", default=default)
    if not isinstance(labels, dict) or not labels:
        raise config.wrong("id2label", "mapping of labels")
    return len(labels)


def architecture(config: Settings) -> str:
    """Return the name of the model's class, or nothing."""
    names = config.get("architectures") or [""]
    if not isinstance(names, list) or not isinstance(names[0], str):
        raise config.wrong("architectures", "list of names")
    return names[0]


def head(config: Settings, *known: str) -> str:
    """Return which head the architecture puts on an encoder. Raises InputError for one not ``known``."""
    name = architecture(config)
    for word, found in (
        ("MaskedLM", "mlm"), ("PreTraining", "pretraining"), ("QuestionAnswering", "qa"),
        ("SequenceClassification", "classification"),
    ):  # fmt: skip
        if word in name:
            if found not in known:
                raise InputError(
                    f"{config.where}: architectures: {name} is not described by this family",
                    hint="convert the module itself: torch:module:callable",
                )
            return found
    return "none"
