"""Opens the networks that measured cases name, with the parameters that their labels state."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from estimator.catalog.networks import find_network, network_document, parse_network
from estimator.errors import InputError
from estimator.networks.language.read import read_network

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.catalog.text_files import SourceText
    from estimator.document import Value
    from estimator.networks.graph import Network

_LIBRARIES = ("torchvision", "timm")  # where a plain name is looked for after the zoo


def open_network(name: str, overrides: Mapping[str, Value]) -> Network:
    """Return a network of the zoo, else the torchvision or timm one of that name.

    A parameter that the network does not have is passed over where its value is what the network does
    anyway (``ffn`` of four times the width); otherwise it is an InputError.
    """
    source = _source(name)
    plain = _plain(source)
    wanted = {
        key: value
        for key, value in overrides.items()
        if key in plain.parameters or not _is_implied(key, value, overrides, plain)
    }
    unknown = sorted(wanted.keys() - plain.parameters.keys())
    if unknown:
        raise InputError(f"{name} has no parameter {', '.join(unknown)}")
    if not wanted:
        return plain
    return read_network(network_document(source), overrides=wanted)


@cache
def _source(name: str) -> SourceText:
    try:
        return find_network(name)
    except InputError as error:
        if ":" in name:
            raise
        for library in _LIBRARIES:
            try:
                return find_network(f"{library}:{name}")
            except InputError:
                continue
        raise error from None


@cache
def _plain(source: SourceText) -> Network:
    return parse_network(source)


def _is_implied(key: str, value: Value, given: Mapping[str, Value], network: Network) -> bool:
    """Tell whether a network without parameter ``key`` has the value anyway."""
    known = {**network.parameters, **given}
    width, heads = known.get("d"), known.get("heads")
    if key == "image":
        return any(one.shape[-1:] == (value,) for one in network.inputs)
    if key == "ffn":
        return isinstance(width, int) and value == 4 * width
    if key == "head_dim":
        return isinstance(width, int) and isinstance(heads, int) and value == width // heads
    return key == "kv_heads" and value == heads
