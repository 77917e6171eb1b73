"""Opening a network: from a name, a file or standard input to a graph and its recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.catalog.networks import find_network, parse_network
from estimator.catalog.text_files import read_stream
from estimator.networks.training import Training

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from estimator.catalog.text_files import SourceText
    from estimator.networks.graph import Network

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A network and the recipe its file asks for."""

    network: Network
    training: Training


def open_network(name: str, overrides: Sequence[str], stdin: BinaryIO) -> Described:
    """Return the network of a zoo name, a path, or ``-`` for standard input."""
    return described(open_source(name, stdin), overrides)


def open_source(name: str, stdin: BinaryIO) -> SourceText:
    """Return the text of a network, to be read once however often it is described."""
    return read_stream(stdin, "<stdin>") if name == STDIN else find_network(name)


def described(source: SourceText, overrides: Sequence[str]) -> Described:
    """Return the network a text describes, with some of its parameters replaced."""
    network = parse_network(source, overrides)
    return Described(network=network, training=Training(**network.recipe))
