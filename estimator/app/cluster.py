"""The use case of ``estimator cluster``: results from many hosts merged into one."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from estimator.errors import InputError
from estimator.results.cluster import ClusterGroup, ClusterHost, ClusterResult
from estimator.results.measurement import MeasuredTime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_DETECT, _MEASURE = "estimator/detect/1", "estimator/measure/1"
_SLOWER = 1.1  # than the median: a host that holds the others up


def read_results(paths: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """Return each file's host and result; the host is what the result says, or else the file's name."""
    found = []
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path}: not JSON: {error}", hint="collect with --format json") from None
        if not isinstance(data, dict) or data.get("schema") not in (_DETECT, _MEASURE):
            raise InputError(
                f"{path}: no result of estimator detect or measure", hint="collect with --format json"
            )
        inputs = data.get("inputs")
        host = inputs.get("host") if isinstance(inputs, dict) else None
        found.append((str(host or path.stem), data))
    return found


def merge(results: Sequence[tuple[str, Mapping[str, Any]]]) -> ClusterResult:
    """Return hosts grouped by what they have; of measurements, by network and batch too, and the slowest."""
    schemas = {str(result["schema"]) for _, result in results}
    if len(schemas) != 1:
        raise InputError(
            "these are results of different commands", hint="merge those of detect, or those of measure"
        )
    measures = schemas == {_MEASURE}
    groups: dict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for host, result in results:
        groups[_measured(result) if measures else _has(result)].append((host, result))
    found = tuple(
        ClusterGroup(
            what=what,
            hosts=tuple(host for host, _ in members),
            step_s=_together(members) if measures else None,
        )
        for what, members in sorted(groups.items())
    )
    slow = [text for members in groups.values() for text in _slow(members)] if measures else []
    return ClusterResult(
        kind="measure" if measures else "detect",
        hosts=tuple(
            ClusterHost(host=host, schema=str(result["schema"]), result=dict(result))
            for host, result in results
        ),
        groups=found,
        slowest=max(results, key=lambda pair: _step(pair[1]))[0] if measures else None,
        warnings=(*_unlike(found, measures=measures), *slow),
    )


def _has(result: Mapping[str, Any]) -> str:
    devices = result["host"]["devices"]
    return ", ".join(f"{device['name']} ({device['units']:g} {device['unit_name']}s)" for device in devices)


def _measured(result: Mapping[str, Any]) -> str:
    inputs, device = result["inputs"], result["device"]
    return f"{inputs['network']}, batch {inputs['batch']}, {inputs['precision']} on {device['name']}"


def _step(result: Mapping[str, Any]) -> float:
    return float(result["measured"]["step_s"]["median"])


def _together(members: Sequence[tuple[str, Mapping[str, Any]]]) -> MeasuredTime:
    """Return the hosts' medians as one distribution, a host a repetition."""
    steps = sorted(_step(result) for _, result in members)
    last = len(steps) - 1
    return MeasuredTime(
        median=steps[len(steps) // 2], p10=steps[round(0.1 * last)], p90=steps[round(0.9 * last)],
        steps=len(steps),
    )  # fmt: skip


def _slow(members: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    median = _together(members).median
    return [
        f"{host} is {100 * (_step(result) / median - 1):.0f} % slower than the median of its group: "
        "in data-parallel training all wait for it"
        for host, result in members
        if _step(result) > _SLOWER * median
    ]


def _unlike(groups: Sequence[ClusterGroup], *, measures: bool) -> list[str]:
    if measures or len(groups) == 1:
        return []
    return [f"the hosts are of {len(groups)} kinds: training in step goes at the pace of the slowest kind"]
