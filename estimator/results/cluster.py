"""The result of ``estimator cluster``: what many hosts have or measured, in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from estimator.results.base import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.measurement import MeasuredTime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHost:
    """One host of a cluster: its name, and the whole result that was collected there."""

    host: str
    schema: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGroup:
    """Hosts that are alike: what they have (or measured), how many, and how far their times lie apart."""

    what: str
    hosts: tuple[str, ...]
    step_s: MeasuredTime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterResult(Result):
    """Results of many hosts in one: ``slowest`` is who holds the others up."""

    schema: ClassVar[str] = "estimator/cluster/1"

    kind: str
    hosts: tuple[ClusterHost, ...]
    groups: tuple[ClusterGroup, ...]
    slowest: str | None
    warnings: tuple[str, ...] = ()
