"""One door to all conversions: ``torch:``, ``torchvision:``, ``timm:``, ``hf:``, ``onnx:``, ``keras:``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.convert.write import plain_network, yaml_text
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.convert.entries import Converted, Gap

KINDS = {
    "torch": "torch:package.module:callable", "torchvision": "torchvision:NAME", "timm": "timm:NAME",
    "hf": "hf:config.json", "onnx": "onnx:FILE", "keras": "keras:FILE.json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conversion:
    """A network as YAML, what of it no layer describes (it stands there as Custom), and what to know."""

    name: str
    text: str
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


def is_source(text: str) -> bool:
    """Tell whether a name is one of other people's formats (``timm:resnet50``)."""
    return text.split(":", 1)[0] in KINDS and ":" in text


def convert_source(source: str, inputs: Sequence[str] = ()) -> Conversion:
    """Return the network that ``kind:what`` names as YAML.

    ``inputs`` are the shapes of a PyTorch module's inputs without the batch (``3x224x224``,
    ``int64:128``). Raises InputError for what is not there or cannot be converted, MissingPackageError
    where the package that reads it is not installed.
    """
    kind, _, what = source.partition(":")
    if kind in KINDS and not what:
        raise InputError(f"the source {source!r} names nothing", hint=f"write {KINDS[kind]}")
    if kind not in KINDS:
        hint = suggestion(kind, KINDS) or f"write one of {', '.join(KINDS.values())}"
        raise InputError(f"unknown source {source!r}", hint=hint)
    return _READERS[kind](what, inputs)


def conversion_of(network: Converted) -> Conversion:
    """Return a converted network with its text, which says on top what of it is not known."""
    notes = (f"the image size is fixed: {network.fixed_size}",) if network.fixed_size else ()
    unknown = [
        f"# {gap.unknown} not known: {gap.place} ({gap.function.split(' ', 1)[0]})\n"
        for gap in network.gaps
        if gap.unknown
    ]
    text = "".join(dict.fromkeys(unknown)) + yaml_text(plain_network(network))
    return Conversion(network.name, text, tuple(network.gaps), notes)


def _torch(what: str, inputs: Sequence[str]) -> Conversion:
    from estimator.convert.torch_source import torch_network

    return conversion_of(torch_network(what, inputs))


def _torchvision(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.vision import from_torchvision

    return conversion_of(from_torchvision(what))


def _timm(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.vision import from_timm

    return conversion_of(from_timm(what))


def _huggingface(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.huggingface import huggingface_network

    path = Path(what)
    name = path.parent.name if path.name == "config.json" and path.parent.name else path.stem
    made = huggingface_network(_text(path), _identifier(name), str(path))
    return Conversion(_identifier(name), yaml_text(made.plain), (), made.notes)


def _keras(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.keras_json import keras_network

    path = Path(what)
    return conversion_of(keras_network(_text(path), _identifier(path.stem), str(path)))


def _onnx(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.onnx_file import onnx_network

    path = Path(what)
    if not path.is_file():
        raise InputError(f"there is no file {what!r}")
    return conversion_of(onnx_network(path.read_bytes(), _identifier(path.stem)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {(error.strerror or '').lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not UTF-8 text") from None
    except ValueError as error:  # a name with a null byte
        raise InputError(f"{str(path)!r} is no file name: {error}") from None


def _identifier(name: str) -> str:
    """Return a name as networks have them."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "network"


_READERS: dict[str, Callable[[str, Sequence[str]], Conversion]] = {
    "torch": _torch, "torchvision": _torchvision, "timm": _timm, "hf": _huggingface, "onnx": _onnx,
    "keras": _keras,
}  # fmt: skip
