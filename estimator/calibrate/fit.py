"""Measured steps to a calibration: one fit for public rows and for the user's own."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.calibrate.cpu_entries import CpuEntries
from estimator.calibrate.design import Design, Entries
from estimator.calibrate.gpu_entries import GpuEntries
from estimator.calibrate.parameters import Parameters
from estimator.calibrate.solve import group_weights, scatter_weights, solve
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.efficiency import Scale
from estimator.predict.table import PHASES
from estimator.provenance import Basis, Provenance
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from estimator.calibrate.observation import Observation
    from estimator.hardware.efficiency import Calibration

    Floats = NDArray[np.float64]

_ROWS_FOR_A_SCALE, _NETWORKS_FOR_A_SCALE = 10, 2
_DIGITS = 4
_IMPLAUSIBLE = np.log(8.0)
_FORWARD_INTEREST = 0.5  # it is training that is asked about; single products count in full


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A calibration and what it leaves unexplained: ln(measured / predicted) of each observation.

    ``logs`` are the fitted logarithms of speeds.
    """

    calibration: Calibration
    residuals: Floats
    logs: Floats


class Problem:
    """Measured steps made ready once, to be fitted with any of them left out."""

    def __init__(self, observations: Sequence[Observation], start: Calibration) -> None:
        """Flatten the observations; every fit begins from ``start`` and is held to it."""
        if not observations:
            raise InputError("there is no measurement to calibrate from")
        self.observations = observations
        self.start = start
        self.parameters, entries = Parameters(), Entries()
        scaled = devices_with_scales(observations)
        kinds: dict[DeviceKind, GpuEntries | CpuEntries] = {
            DeviceKind.GPU: GpuEntries(start, self.parameters, entries, scaled),
            DeviceKind.CPU: CpuEntries(start, self.parameters, entries, scaled),
        }
        hosts = [kinds[o.device.kind].add(i, o) for i, o in enumerate(observations)]
        self.design = Design(
            entries,
            len(observations),
            len(self.parameters.keys),
            launches=np.array([each.launches for each in hosts]),
            host=np.array([each.coefficient for each in hosts], dtype=np.intp),
            waiting=np.array([each.waiting_s for each in hosts]),
        )
        self._measured = np.log([o.seconds for o in observations])
        self._interest = np.array([_FORWARD_INTEREST if _is_inference(o) else 1.0 for o in observations])

    def plausible(self) -> NDArray[np.bool_]:
        """Mark the observations within a factor of eight of the start.

        What is further off is a unit or a network read wrongly (frames for utterances, say), not a speed.
        """
        predicted, _ = self.design.log_seconds(np.array(self.parameters.start))
        return np.asarray(np.abs(self._measured - predicted) < _IMPLAUSIBLE)

    def fit(self, use: NDArray[np.bool_] | None = None, begin: Fit | None = None) -> Fit:
        """Fit the observations that ``use`` marks (default all); residuals are of all of them.

        ``begin`` is a fit to search from, which is quicker than from the start. A device, architecture or
        release without a row in use keeps what ``start`` says of it.
        """
        used = np.ones(len(self.observations), dtype=bool) if use is None else use
        seen = [o for o, one in zip(self.observations, used, strict=True) if one]
        weights = np.zeros(len(used))
        weights[used] = group_weights(
            [(o.source, o.device.id) for o in seen],
            [(o.source, o.device.id, o.network, o.precision, o.software) for o in seen],
        )
        weights *= self._interest
        weights *= len(seen) / weights.sum()
        from_logs = begin.logs if begin else None
        logs = solve(self.design, self.parameters, self._measured, weights, from_logs)
        predicted, _ = self.design.log_seconds(logs)
        errors = self._measured - predicted
        for kind in DeviceKind:  # the two share no coefficient, so neither takes weight from the other
            rows = np.flatnonzero(used & np.array([o.device.kind is kind for o in self.observations]))
            sources = [self.observations[i].source for i in rows.tolist()]
            weights[rows] = scatter_weights(sources, errors[rows], weights[rows])
        logs = solve(self.design, self.parameters, self._measured, weights, logs)
        predicted, _ = self.design.log_seconds(logs)
        calibration = _apply(self.start, self.parameters, logs, seen)
        return Fit(calibration=calibration, residuals=self._measured - predicted, logs=logs)


def _is_inference(observation: Observation) -> bool:
    """Tell whether a GPU only ran forward passes; tables of CPUs time the phases of a step one by one."""
    table = observation.table
    if observation.device.kind is DeviceKind.CPU:
        return False
    trained = (table.phase == PHASES.index(Phase.WGRAD)) & (table.runs > 0)
    return len(table.runs) > 1 and not trained.any()


def fit(observations: Sequence[Observation], start: Calibration) -> Fit:
    """Return the calibration that explains the observations best, beginning from ``start``.

    A device gets scales of its own only from 10 rows on of at least 2 networks: two scales from one
    network do not transfer to the next.
    """
    return Problem(observations, start).fit()


def devices_with_scales(observations: Sequence[Observation]) -> frozenset[str]:
    """Return the devices that have rows and networks enough for scales of their own."""
    networks: dict[str, list[str]] = defaultdict(list)
    for observation in observations:
        networks[observation.device.id].append(observation.network)
    return frozenset(
        device for device, names in networks.items()
        if len(names) >= _ROWS_FOR_A_SCALE and len(set(names)) >= _NETWORKS_FOR_A_SCALE
    )  # fmt: skip


def _apply(
    start: Calibration, parameters: Parameters, logs: Floats, observations: Sequence[Observation]
) -> Calibration:
    """Return ``start`` with the fitted values in place, rounded so that they are the same everywhere."""
    values = {
        key: float(f"{Parameters.value(key, log):.{_DIGITS}g}")
        for key, log in zip(parameters.keys, logs, strict=True)
    }
    changes: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for key, value in values.items():
        changes[key.part][key.entry][key.name] = value
    gpu, cpu = changes["gpu"], changes["cpu"]
    return replace(
        start,
        gpu=replace(
            start.gpu,
            **gpu.pop("", {}),
            regimes=_changed(start.gpu.regimes, gpu),
        ),
        cpu=replace(start.cpu, **cpu.pop("", {}), regimes=_changed(start.cpu.regimes, cpu)),
        vendors=_with_kinds(
            _scales(start.vendors, changes["vendors"], _counts(observations, "vendor")),
            changes["vendors_kinds"],
        ),
        architectures=_with_kinds(
            _scales(start.architectures, changes["architectures"], _counts(observations, "architecture")),
            changes["architectures_kinds"],
        ),
        devices=_scales(start.devices, changes["devices"], _counts(observations, "device")),
        software=_software(start, changes),
    )


def _changed(entries: Mapping[str, Any], changes: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {key: replace(entry, **changes.get(key, {})) for key, entry in entries.items()}


def _counts(observations: Sequence[Observation], level: str) -> dict[str, list[str]]:
    """Return the sources of the steps of each vendor, architecture or device.

    Single products tell how fast a device multiplies, not how it trains.
    """
    sources: dict[str, list[str]] = defaultdict(list)
    for o in observations:
        if len(o.table.runs) == 1:
            continue
        names = {
            "vendor": o.device.vendor.lower(), "architecture": o.device.architecture.id, "device": o.device.id
        }  # fmt: skip
        sources[names[level]].append(o.source)
    return sources


def _scales(
    known: Mapping[str, Scale], changes: Mapping[str, Mapping[str, float]], rows: Mapping[str, list[str]]
) -> dict[str, Scale]:
    result = dict(known)
    for entry in sorted(set(changes) | set(rows)):
        sources = rows.get(entry, [])
        changed: Scale = replace(known.get(entry, Scale()), **dict[str, Any](changes.get(entry, {})))
        basis = Provenance(", ".join(sorted(set(sources))), Basis.CALIBRATED)
        result[entry] = replace(changed, rows=len(sources), provenance=basis)
    return dict(sorted(result.items()))


def _with_kinds(scales: Mapping[str, Scale], changes: Mapping[str, Mapping[str, float]]) -> dict[str, Scale]:
    """Put what a vendor's library does to single classes of kernels (``group/kind``) in a group's scale."""
    result = dict(scales)
    for name, values in changes.items():
        group, _, kind = name.partition("/")
        result[group] = replace(result[group], kinds={**result[group].kinds, kind: values["speed"]})
    return result


def _software(
    start: Calibration, changes: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> tuple[Any, ...]:
    result = []
    for number, entry in enumerate(start.software):
        own = dict(changes["software"].get(str(number), {}))
        for part in ("kinds", "cpu_kinds"):
            found = {
                name.partition("/")[2]: values["time"]
                for name, values in changes[part].items()
                if name.partition("/")[0] == str(number)
            }
            own[part] = {**getattr(entry, part), **found}  # type: ignore[assignment]
        result.append(replace(entry, **own))  # type: ignore[arg-type]
    return tuple(result)
