"""One door to all conversions: ``torch:``, ``torchvision:``, ``timm:``, ``hf:``, ``onnx:``, ``keras:``."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Given
from estimator.convert.write import plain_network, yaml_text
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.convert.entries import Converted, Gap

KINDS = ("torch", "torchvision", "timm", "hf", "onnx", "keras")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A network as YAML, and what of it no layer describes (it stands there as Custom)."""

    name: str
    text: str
    gaps: tuple[Gap, ...] = ()
    note: str = ""


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
    if kind not in KINDS or not what:
        hint = suggestion(kind, KINDS) or f"write one of {', '.join(f'{k}:…' for k in KINDS)}"
        raise InputError(f"unknown source {source!r}", hint=hint)
    return _READERS[kind](what, inputs)


def conversion_of(network: Converted) -> Conversion:
    """Return a converted network with its text."""
    note = f"the image size is fixed: {network.fixed_size}" if network.fixed_size else ""
    return Conversion(network.name, yaml_text(plain_network(network)), tuple(network.gaps), note)


def _torch(what: str, inputs: Sequence[str]) -> Conversion:
    """Convert what ``package.module:callable`` returns; the callable takes no arguments."""
    from estimator.convert.torch_module import convert
    from estimator.convert.torch_trace import import_torch, weightless

    torch = import_torch()
    module_name, _, callable_name = what.partition(":")
    if not callable_name:
        raise InputError(f"torch:{what} names no callable", hint="write torch:package.module:callable")
    if not inputs:
        raise InputError(
            "a PyTorch module does not say what it is called with",
            hint="add --input 3x224x224 (without the batch)",
        )
    with weightless():
        module = _imported(module_name, callable_name)()
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"{what} returned {type(module).__name__}, not a torch.nn.Module")
    names = ["x"] if len(inputs) == 1 else [f"x{n}" for n in range(1, len(inputs) + 1)]
    given = [_given(name, text) for name, text in zip(names, inputs, strict=True)]
    return conversion_of(convert(module, given, name=callable_name, source=f"torch:{what}"))


def _imported(module_name: str, callable_name: str) -> Callable[[], Any]:
    """Import a callable from a module of the working directory or of an installed package."""
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"cannot import {module_name!r}: {error}") from None
    finally:
        if added:
            sys.path.remove(here)
    found = getattr(module, callable_name, None)
    if not callable(found):
        hint = suggestion(callable_name, dir(module))
        raise InputError(f"{module_name} has no callable {callable_name!r}", hint=hint)
    return found  # type: ignore[no-any-return]


_SHAPE = re.compile(r"(?:(?P<dtype>float32|float16|int64|int32|bool):)?(?P<sizes>\d+(?:x\d+)*)")


def _given(name: str, text: str) -> Given:
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"cannot read the input {text!r}", hint="write 3x224x224 or int64:128")
    return Given(name, tuple(int(n) for n in match["sizes"].split("x")), match["dtype"] or "float32")


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
    return Conversion(_identifier(name), yaml_text(huggingface_network(_text(path), _identifier(name))))


def _keras(what: str, _: Sequence[str]) -> Conversion:
    from estimator.convert.keras_json import keras_network

    path = Path(what)
    return conversion_of(keras_network(_text(path), _identifier(path.stem)))


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


def _identifier(name: str) -> str:
    """Return a name as networks have them."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "network"


_READERS: dict[str, Callable[[str, Sequence[str]], Conversion]] = {
    "torch": _torch, "torchvision": _torchvision, "timm": _timm, "hf": _huggingface, "onnx": _onnx,
    "keras": _keras,
}  # fmt: skip
