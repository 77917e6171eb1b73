"""Networks on disk: the zoo by name, a user's file by path."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.catalog.converted import PACKAGES, converted_names, converted_source, find_converted
from estimator.catalog.near_networks import loose, near_network
from estimator.catalog.network_base import with_base
from estimator.catalog.network_labels import meaning_of
from estimator.catalog.store import bundled_root, override_roots, profile_files
from estimator.catalog.text_files import read_text_file
from estimator.catalog.yaml_reader import read_document
from estimator.document import ListNode, Scalar
from estimator.errors import InputError
from estimator.networks.language.read import read_network
from estimator.networks.language.recipe import read_recipe
from estimator.networks.language.terms import whole_if_so

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from estimator.catalog.text_files import SourceText
    from estimator.document import Node
    from estimator.networks.graph import Network
    from estimator.networks.language.tokens import Value

FOLDER = "networks"
_SUFFIXES = (".yaml", ".yml")
_WHERE = "give a name of the zoo ('estimator networks list') or a YAML file"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")


def zoo() -> dict[str, Path]:
    """Return the files of all known networks by name; the user's own hide bundled ones."""
    roots = (*override_roots(), bundled_root())
    return {path.stem: path for root in reversed(roots) for path in profile_files(root, FOLDER)}


def find_network(name: str) -> SourceText:
    """Return the text of a network of the zoo (``resnet50``, ``ResNet-50``), of a file, or converted.

    A converted one is ``timm:NAME``, ``torchvision:NAME``, or NAME where the zoo has no such.

    Raises InputError when there is no such network or the file cannot be read.
    """
    found = _zoo_file(name)
    if found is not None:
        return read_text_file(found)
    known = zoo()
    found = known.get(name) or _by_loose_name(known).get(loose(name))
    if found is not None and not _is_path(name):
        return read_text_file(found)
    if (_is_path(name) and meaning_of(name) is None) or _is_there(name, but_folders=True):
        return read_text_file(name)
    if not name.strip():
        raise InputError("no network is named", hint="give a name of the zoo or a YAML file")
    if find_converted(name) is not None or name.partition(":")[0] in PACKAGES:
        return converted_source(name)
    if _is_there(name):
        return read_text_file(name)  # says what is there instead of a file
    return _labelled(name, known)


def _labelled(name: str, known: Collection[str]) -> SourceText:
    """Return the network that a label of measurement tables stands for. Raises InputError for any other."""
    meaning = meaning_of(name)
    if meaning is None:
        of_package = near_network(name, converted_names()) if ":" in name else None
        hint = of_package or near_network(name, known) or _of_converted(name) or _WHERE
        raise InputError(f"unknown network {name!r}", hint=hint)
    is_own, is_converted = meaning.network in known, find_converted(meaning.network) is not None
    if meaning.missing or not (is_own or is_converted):
        raise InputError(f"unknown network {name!r}", hint=meaning.hint(is_known=is_own or is_converted))
    return meaning.source() if is_own or meaning.params else converted_source(meaning.network)


def _of_converted(name: str) -> str | None:
    return near_network(name, [full.partition(":")[2] for full in converted_names()])


def load_network(name: str, overrides: Iterable[str] = ()) -> Network:
    """Find and read a network; ``overrides`` are ``name=value`` for its ``params:``."""
    return parse_network(find_network(name), overrides)


def parse_network(source: SourceText, overrides: Iterable[str] = ()) -> Network:
    """Read a network from a text. Raises InputError, or CombinedInputError with all that is wrong."""
    return read_network(network_document(source), overrides=parse_overrides(overrides))


def network_document(source: SourceText) -> Node:
    """Return what a network's text says, with what its ``base:`` says beside it. Raises InputError."""
    return with_base(read_document(source.text, source.file), _zoo_document)


def _zoo_document(name: str) -> Node:
    path = _zoo_file(name)
    if path is None and find_converted(name) is not None:
        source = converted_source(name)
        return read_document(source.text, source.file)
    if path is None:
        raise InputError(f"unknown network {name!r}", hint=near_network(name, zoo()) or _WHERE)
    state = path.stat()
    return _document(path, (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=64)
def _document(path: Path, _stamp: tuple[int, int]) -> Node:
    """Read a base once for all networks that build on it; ``_stamp`` changes with the file."""
    source = read_text_file(path)
    return read_document(source.text, source.file)


def _zoo_file(name: str) -> Path | None:
    """Return the file of a network of the zoo that is named exactly, without listing the folders."""
    if _PLAIN_NAME.fullmatch(name) is None:
        return None
    files = (root / FOLDER / f"{name}.yaml" for root in (*override_roots(), bundled_root()))
    return next((path for path in files if path.is_file()), None)


def load_recipe(path: str) -> Mapping[str, Any]:
    """Read a recipe file: the fields of Training that it sets."""
    source = read_text_file(path)
    return read_recipe(read_document(source.text, source.file))


def parse_overrides(texts: Iterable[str]) -> dict[str, Value]:
    """Read ``seq=2048`` or ``widths=[64, 128]``; values are written as in YAML."""
    values: dict[str, Value] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        name = name.strip()
        if not separator or not name or not value.strip():
            raise InputError(f"--set: cannot read {text!r}", hint="write name=value, such as seq=2048")
        if name in values:
            raise InputError(f"--set: {name!r} is given twice")
        values[name] = _plain(read_document(value, f"--set {name}"), text)
    return values


def _plain(node: Node, text: str) -> Value:
    if isinstance(node, Scalar):
        return whole_if_so(node.value)
    if isinstance(node, ListNode):
        return tuple(_plain(item, text) for item in node.items)
    raise InputError(f"--set: cannot read {text!r}", hint="a value is a number, a word or a list")


def _is_there(name: str, *, but_folders: bool = False) -> bool:
    """Tell whether a name is that of a file, a pipe or the like, or of a folder."""
    try:
        path = Path(name)
        return path.exists() and not (but_folders and path.is_dir())
    except OSError:  # longer than names can be
        return False


def _is_path(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) or "/" in name or "\\" in name


def _by_loose_name(known: Mapping[str, Path]) -> dict[str, Path]:
    """Return the networks whose name differs from all others in more than case and punctuation."""
    names = [loose(name) for name in known]
    return {loose(name): path for name, path in known.items() if names.count(loose(name)) == 1}
