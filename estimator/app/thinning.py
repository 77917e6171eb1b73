"""Fewer networks of large tables: what a fit, and the page on its accuracy, look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.calibrate.case import Case

MOST_NETWORKS = 80  # of a source, in each precision, layout and kind of run


def thinned(cases: Sequence[Case], most: int = MOST_NETWORKS) -> list[Case]:
    """Return the cases of at most so many networks in each stratum of a source, evenly spaced.

    The hundredth network of a source tells a fit less than its tenth, and takes as long to lower. The choice
    depends on the order of the rows alone.
    """
    strata: dict[tuple[object, ...], dict[object, int]] = {}
    for case in cases:
        networks = strata.setdefault(_stratum(case), {})
        networks.setdefault(case.network, len(networks))

    def is_kept(case: Case) -> bool:
        networks = strata[_stratum(case)]
        place, stride = networks[case.network], len(networks) / most
        return stride <= 1 or int(place / stride) != int((place - 1) / stride) or place == 0

    return [case for case in cases if is_kept(case)]


def _stratum(case: Case) -> tuple[object, ...]:
    return case.source_group, case.precision, case.inference, case.software.layout
