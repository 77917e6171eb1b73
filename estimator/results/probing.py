"""The results of measuring what surrounds a step: the input pipeline, and the link between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRate:
    """Images a second that ``workers`` processes deliver (0: the training process itself)."""

    workers: int
    images_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderResult(Result):
    """What an input pipeline delivers against what a network consumes.

    ``consumed_images_per_s`` is None where no network was named; ``bottleneck`` names what limits
    training then: "loader" or "network".
    """

    schema: ClassVar[str] = "estimator/measure-loader/1"
    main_rows: ClassVar[str] = "rates"

    inputs: Mapping[str, Any]
    rates: tuple[LoaderRate, ...]
    read_bytes_per_s: float | None
    image_bytes: float | None
    decode_images_per_s: float | None
    consumed_images_per_s: float | None
    consumed_basis: str | None
    bottleneck: str | None
    explanation: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePoint:
    """An all-reduce of ``bytes`` in every process: median seconds, and what the fitted line says."""

    bytes: int
    seconds: float
    fitted_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivesResult(Result):
    """A measured link: ``seconds = alpha_s + 2 (n - 1) / n x bytes / bus_bytes_per_s``."""

    schema: ClassVar[str] = "estimator/measure-collectives/1"
    main_rows: ClassVar[str] = "points"

    inputs: Mapping[str, Any]
    name: str
    processes: int
    hosts: int
    backend: str
    alpha_s: float
    bus_bytes_per_s: float
    points: tuple[CollectivePoint, ...]
    saved_as: str
    warnings: tuple[str, ...] = ()
