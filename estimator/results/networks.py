"""The results of ``estimator networks``: the zoo's list, and the verdict on a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from estimator.results.base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRow:
    """One network of the zoo: ``forward_flops`` of one sample, ``input`` its inputs without the batch."""

    name: str
    family: str
    parameters: int
    forward_flops: int
    input: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkListResult(Result):
    """All networks that can be named."""

    schema: ClassVar[str] = "estimator/networks-list/1"
    main_rows: ClassVar[str] = "networks"

    networks: tuple[NetworkRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCheckResult(Result):
    """A file that was read, expanded and run symbolically without an error."""

    schema: ClassVar[str] = "estimator/networks-check/1"

    network: NetworkRow
    layers: int
    custom_layers: tuple[str, ...]
