"""A notebook for one detection: where each fact came from, and what could not be learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.provenance import Basis, Finding, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ledger:
    """Collect sources by field and findings while a detector reads."""

    def __init__(self) -> None:
        self._sources: dict[str, Provenance] = {}
        self._findings: list[Finding] = []

    def source(self, fact: str, where: str, *, basis: Basis = Basis.DETECTED, note: str = "") -> None:
        """Note that ``fact`` was read at ``where``."""
        self._sources[fact] = Provenance(where, basis, note)

    def finding(self, what: str, why: str, remedy: str) -> None:
        """Note something that could not be learned or looks wrong; the same finding counts once."""
        found = Finding(what=what, why=why, remedy=remedy)
        if found not in self._findings:
            self._findings.append(found)

    def provenance(self) -> Mapping[str, Provenance]:
        """Return the sources by field noted so far."""
        return dict(self._sources)

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings in the order they were made."""
        return tuple(self._findings)
